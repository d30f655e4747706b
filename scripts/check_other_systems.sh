#!/bin/bash
# check_other_systems.sh [--full] [SYSTEM...]
# Builds the commit at HEAD on other systems and with another compiler, each in a chroot made by debootstrap; runs `make demo`, the
# tests of structure and those of soundness there, builds the whole program (--full: `make test`, too), and prints a table. What is
# built is a release, with warnings as errors, so that none is new to those who build it there. A campaign, not a part of
# continuous integration: about 40 minutes per row on two cores the first time; ccache keeps what was compiled.
#
# SYSTEM is one of the rows below; all of them otherwise. Needs root and debootstrap. Packages come from where this machine's apt
# has them: the mirror of its distribution is read from its configuration, another one's is named by PLANPROOF_DEBIAN_MIRROR or
# PLANPROOF_UBUNTU_MIRROR. Chroots are kept in PLANPROOF_SYSTEMS (default: /var/tmp/planproof-systems), with a log for each row.
set -euo pipefail
cd "$(dirname "$0")/.."

# name | distribution | suite | compiler | its package
rows=(
  'bookworm|debian|bookworm|c++|g++'
  'trixie|debian|trixie|c++|g++'
  'trixie-clang|debian|trixie|clang++-19|clang-19'
  'noble|ubuntu|noble|c++|g++'
)
systems=${PLANPROOF_SYSTEMS:-/var/tmp/planproof-systems}
jobs=${JOBS:-$(nproc)}
full=
if [[ ${1:-} == --full ]]; then
  full=1
  shift
fi
for tool in debootstrap unshare git; do
  command -v "$tool" >/dev/null || { echo "systems: $tool is missing: apt-get install debootstrap util-linux git" >&2; exit 1; }
done
((EUID == 0)) || { echo "systems: chroots need root" >&2; exit 1; }
mkdir -p "$systems"

# mirror DISTRIBUTION: where its packages come from; empty if nothing says so.
mirror() {
  local variable=PLANPROOF_${1^^}_MIRROR
  if [[ -n ${!variable:-} ]]; then
    echo "${!variable}"
  else
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | sed -n "s,/$1/*\$,/$1,p" | head -1
  fi
}

# inside ROOT COMMAND...: with its own /proc, /dev/shm and terminals, which are gone with the command.
inside() {
  local root=$1
  shift
  unshare --mount --pid --fork bash -c '
    mount -t proc proc "$0/proc" && mkdir -p "$0/dev/shm" && mount -t tmpfs tmpfs "$0/dev/shm"
    mkdir -p "$0/dev/pts" && mount -t devpts -o newinstance,ptmxmode=0666 devpts "$0/dev/pts"
    [[ -c $0/dev/ptmx ]] && mount --bind "$0/dev/pts/ptmx" "$0/dev/ptmx"
    exec chroot "$0" "$@"' "$root" \
    env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 JOBS="$jobs" \
    DEBIAN_FRONTEND=noninteractive CCACHE_MAXSIZE=3G "$@"
}

# make_chroot DISTRIBUTION SUITE ROOT: nothing if it is there. Says why there is none.
make_chroot() {
  local from
  [[ ! -f $3/.complete ]] || return 0
  from=$(mirror "$1")
  if [[ -z $from ]]; then
    echo "no mirror of $1 is configured (PLANPROOF_${1^^}_MIRROR)"
    return 1
  fi
  rm -rf --one-file-system "$3"
  local components=main
  [[ $1 != ubuntu ]] || components=main,universe
  # Older versions of debootstrap know a new suite by the script that all suites of its distribution share.
  local script=/usr/share/debootstrap/scripts/$2
  [[ -e $script ]] || script=/usr/share/debootstrap/scripts/$([[ $1 == ubuntu ]] && echo gutsy || echo sid)
  if ! debootstrap --variant=minbase --components="$components" "$2" "$3" "$from" "$script" >"$3.log" 2>&1; then
    echo "its packages are not reached ($(tail -1 "$3.log" | cut -c1-60))"
    return 1
  fi
  # The way to the mirror, as on this machine.
  cp /etc/resolv.conf /etc/hosts "$3/etc/"
  apt-config dump | grep -i '^Acquire::.*Proxy' >"$3/etc/apt/apt.conf.d/99planproof" || true
  touch "$3/.complete"
}

# tests_passed LOG: of the last run of ctest.
tests_passed() {
  sed -nE 's/^[0-9]+% tests passed, ([0-9]+) tests? failed out of ([0-9]+).*/\1 \2/p' "$1" | tail -1 |
    { read -r failed of && echo "$((of - failed)) of $of"; } || echo "did not run"
}

lines=()
wrong=0
row() { lines+=("$(printf '| %-13s | %-16s | %-5s | %-9s | %-9s | %-7s | %-12s | %7s |' "$@")"); }
row system compiler demo structure soundness program "make test" seconds
row -- -- -- -- -- -- -- --

# check NAME DISTRIBUTION SUITE COMPILER PACKAGE
check() {
  local name=$1 compiler=$4 root=$systems/$3 why started=$SECONDS
  local log=$systems/$name.log demo=fails structure=- soundness=- program=- all=-
  if ! why=$(make_chroot "$2" "$3" "$root"); then
    row "$name" "$compiler" - - - - - -
    lines+=("  $name: $why")
    return
  fi
  rm -rf "$root/src/planproof"
  mkdir -p "$root/src/planproof"
  git -c safe.directory='*' archive HEAD | tar -x -C "$root/src/planproof"
  local make=(make -C src/planproof "CMAKE_OPTIONS=-DCMAKE_CXX_COMPILER=$compiler -DPLANPROOF_WERROR=ON")
  local run="cd src/planproof && cmake -DPLANPROOF_TESTS=ON -DPLANPROOF_PROVER_ONLY=OFF build && cmake --build build -j $jobs"
  : >"$log"
  if inside "$root" bash -c "cd src/planproof && scripts/setup.sh test && apt-get install -y --no-install-recommends ccache $5" \
      >>"$log" 2>&1 && inside "$root" "${make[@]}" demo >>"$log" 2>&1; then
    demo=ok
    echo "systems: $name: demo is right after $((SECONDS - started)) s" >&2
    for suite in structure soundness_cases; do
      inside "$root" bash -c "$run --target ${suite}_tests && scripts/run_tests.sh build $jobs -R '^${suite}[.]'" \
        >"$log.$suite" 2>&1 || wrong=1
      cat "$log.$suite" >>"$log"
      echo "systems: $name: $suite: $(tests_passed "$log.$suite") after $((SECONDS - started)) s" >&2
    done
    structure=$(tests_passed "$log.structure")
    soundness=$(tests_passed "$log.soundness_cases")
    program=ok
    inside "$root" bash -c "$run --target planproof_program" >>"$log" 2>&1 || { program=fails; wrong=1; }
    if [[ -n $full ]]; then
      inside "$root" "${make[@]}" test >"$log.all" 2>&1 || wrong=1
      cat "$log.all" >>"$log"
      all=$(tests_passed "$log.all")
    fi
  else
    wrong=1
  fi
  rm -f "$log".*
  row "$name" "$(inside "$root" "$compiler" --version 2>/dev/null | sed -nE '1s/.*(\+\+|clang).* ([0-9]+\.[0-9.]+).*/\1 \2/p' | sed 's/^++/GCC/')" \
    "$demo" "$structure" "$soundness" "$program" "$all" $((SECONDS - started))
  [[ $demo$program == okok ]] || lines+=("  $name: see $log: $(grep -m1 -E 'error: |Error |fatal' "$log" | cut -c1-100 || true)")
}

known=()
for entry in "${rows[@]}"; do
  IFS='|' read -r name distribution suite compiler package <<<"$entry"
  known+=("$name")
  if (($# == 0)) || [[ " $* " == *" $name "* ]]; then
    echo "systems: $name" >&2
    check "$name" "$distribution" "$suite" "$compiler" "$package"
  fi
done
for name in "$@"; do
  [[ " ${known[*]} " == *" $name "* ]] || { echo "systems: $name is none of: ${known[*]}" >&2; exit 1; }
done
printf '%s\n' "${lines[@]}"
exit "$wrong"
