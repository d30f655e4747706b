"""What lets a framework run on a machine without a GPU. A shim redirects devices; it changes no values."""
