"""Reads journals of training runs for tests, by docs/monitor-format.md and not by what writes them."""
import json
import struct
import zlib

EVENT = struct.Struct("<HHIddq")
NO_TEXT = 2 ** 32 - 1


class Journal:
    """The frames of a file, decoded."""

    def __init__(self, path):
        with open(path, "rb") as file:
            content = file.read()
        assert content[:12] == b"PPMONIT\n" + struct.pack("<I", 1)
        self.header, self.texts, self.tables, self.options = None, [], [], []
        self.steps, self.values, self.elements, self.batches = {}, [], [], []
        self.not_observed, self.closing, self.order = [], None, []
        self.cut_off = False
        at = 12
        while at < len(content):
            if len(content) - at < 9:
                self.cut_off = True
                return
            size, kind = struct.unpack_from("<IB", content, at)
            if at + 9 + size > len(content):
                self.cut_off = True
                return
            payload = content[at + 5:at + 5 + size]
            assert size <= 16 << 20
            assert struct.unpack_from("<I", content, at + 5 + size)[0] == zlib.crc32(bytes([kind]) + payload)
            self.order.append(kind)
            self._take(kind, payload)
            at += 9 + size

    def _take(self, kind, payload):
        if kind == 1:
            self.header = json.loads(payload)
        elif kind == 2:
            self.texts.append(payload.decode())
        elif kind == 3:
            self.tables.append(json.loads(payload)["tensors"])
        elif kind == 4:
            self.options.append(json.loads(payload))
        elif kind == 5:
            self._take_step(payload)
        elif kind == 6:
            self._take_values(payload)
        elif kind == 7:
            self._take_elements(payload)
        elif kind == 9:
            self.batches.append(json.loads(payload))
        elif kind == 10:
            self.closing = json.loads(payload)
        elif kind == 11:
            self.not_observed.append(json.loads(payload))

    def text(self, number):
        return None if number == NO_TEXT else self.texts[number]

    def _take_step(self, payload):
        step, time, count, flags = struct.unpack_from("<QQII", payload)
        assert len(payload) == 24 + 32 * count
        events = []
        for type_, flag, subject, a, b, c in EVENT.iter_unpack(payload[24:]):
            events.append({"type": type_, "flags": flag, "subject": self.text(subject), "a": a, "b": b, "c": c})
        self.steps[step] = {"time": time, "sampled": bool(flags & 1), "left_out": bool(flags & 2), "events": events}

    def _take_values(self, payload):
        step, moment, table, word, n = struct.unpack_from("<QBIII", payload)
        at = 21
        assert len(payload) == at + 52 * n
        columns = struct.unpack_from(f"<{n}I{n}d{4 * n}d{n}Q", payload, at)
        self.values.append({"step": step, "moment": moment, "table": table, "set": self.text(word), "tensors": columns[:n],
                            "norms": columns[n:2 * n], "sketches": [columns[(2 + k) * n:(3 + k) * n] for k in range(4)],
                            "fingerprints": columns[6 * n:]})

    def _take_elements(self, payload):
        step, moment, table, word, n = struct.unpack_from("<QBIII", payload)
        columns = struct.unpack_from(f"<{n}I{n}Q{n}d", payload, 21)
        self.elements.append({"step": step, "moment": moment, "table": table, "set": self.text(word), "tensors": columns[:n],
                              "positions": columns[n:2 * n], "values": columns[2 * n:]})

    def events(self, type_=None, step=None):
        """Events of a type, with their steps."""
        return [(number, event) for number, content in self.steps.items() for event in content["events"]
                if (type_ is None or event["type"] == type_) and (step is None or number == step)]

    def facts(self, step, moment, word):
        """Of a set: name to (norm, sketches, fingerprint)."""
        found = {}
        for each in self.values:
            if (each["step"], each["moment"], each["set"]) == (step, moment, word):
                for at, tensor in enumerate(each["tensors"]):
                    found[self.tables[each["table"]][tensor]["name"]] = (
                        each["norms"][at], [each["sketches"][k][at] for k in range(4)], each["fingerprints"][at])
        return found

    def element(self, step, moment, word):
        """Of a set: name to position to value."""
        found = {}
        for each in self.elements:
            if (each["step"], each["moment"], each["set"]) == (step, moment, word):
                for tensor, position, value in zip(each["tensors"], each["positions"], each["values"]):
                    found.setdefault(self.tables[each["table"]][tensor]["name"], {})[position] = value
        return found
