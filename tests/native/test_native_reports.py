"""A sanitizer's report becomes a finding whose signature is its fault and its frames."""

from __future__ import annotations

import re

import pytest

from tests.native.processes import python
from wirefence.fuzz.native.report import read_report

HEAP = """\
INFO: noise before
=================================================================
==11==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x6020000028f3 at pc 0x7fd3a97c3453
READ of size 1 at 0x6020000028f3 thread T0
    #0 0x7fd3a97c3452 in __interceptor_memcpy /llvm/compiler-rt/lib/asan/interceptors.inc:115:5
    #1 0x7fd3a97c3452 in (anonymous namespace)::Reader::next(char const*, int) /src/reader.cc:33:7
    #2 0x7fd3a97c3452 in scan_once.isra.0 /src/scan.c:4:164
    #3 0x7fd3a97c3452  (/lib/ujson.so+0x1234) (BuildId: 00ff)
    #4 0x7fd3a97c3452 in outer /src/scan.c:9:1
    #5 0x7fd3a93a6ee1 in cfunction_vectorcall_O /cpython/Objects/methodobject.c:514:24

0x6020000028f3 is located 0 bytes after 3-byte region [0x6020000028f0,0x6020000028f3)
allocated by thread T0 here:
    #0 0x7fd3a9964c7f in __interceptor_malloc /llvm/compiler-rt/lib/asan/malloc.cpp:69:3

SUMMARY: AddressSanitizer: heap-buffer-overflow /src/reader.cc:33:7 in Reader::next
==11==ABORTING
"""
UNDEFINED = """\
src/decode.c:10:14: runtime error: signed integer overflow: 2147483647 + 1 cannot be represented
    #0 0x7f1 in digits src/decode.c:10:14
    #1 0x7f2 in cfunction_call /cpython/Objects/methodobject.c:542:18

SUMMARY: UndefinedBehaviorSanitizer: undefined-behavior src/decode.c:10:14 in
"""
DEADLY = """\
==7== ERROR: libFuzzer: deadly signal
    #0 0x7f1 in __sanitizer_print_stack_trace /llvm/compiler-rt/lib/ubsan/ubsan_diag.cpp:31
    #1 0x7f2 in fuzzer::PrintStackTrace() /llvm/compiler-rt/lib/fuzzer/FuzzerUtil.cpp:210:5
    #2 0x7f3  (/lib/x86_64-linux-gnu/libc.so.6+0x3c04f) (BuildId: 6196)
    #3 0x7f4 in scan_once /src/scan.c:4:164
"""


def test_frames_of_a_report_are_the_librarys_own():
    report = read_report(HEAP)
    assert report is not None
    assert report.fault == "heap-buffer-overflow READ"
    assert report.frames == ("Reader::next", "scan_once", "ujson.so+0x1234")


@pytest.mark.parametrize(
    "file", ["/usr/bin/python3.11", "/usr/bin/python3", "/usr/lib/libpython3.12.so.1.0"]
)
def test_frames_of_an_interpreter_without_names_are_left_out(file):
    """A distribution strips it, and its offsets change with each build."""
    own, calls = HEAP.index("    #3"), HEAP.index("\n0x602")
    report = read_report(HEAP[:own] + f"    #3 0x7fd3a93a6ee1  ({file}+0x5)\n" + HEAP[calls:])
    assert report is not None
    assert report.frames == ("Reader::next", "scan_once")


def test_addresses_sizes_lines_and_processes_do_not_change_a_signature():
    other = HEAP.replace("0x6020000028f3", "0x60200000beef").replace("==11==", "==9999==")
    other = other.replace("size 1", "size 8").replace(":33:7", ":35:9").replace("0x7fd3a97", "0x7e")
    assert other != HEAP
    assert read_report(other) == read_report(HEAP)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("heap-buffer-overflow", "heap-use-after-free"),
        ("READ of size", "WRITE of size"),
        ("scan_once", "scan_string"),
    ],
)
def test_another_fault_access_or_frame_is_another_signature(old, new):
    first, second = (read_report(text) for text in (HEAP, HEAP.replace(old, new)))
    assert first is not None
    assert second is not None
    assert first.kind != second.kind


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (UNDEFINED, "UndefinedBehaviorSanitizer signed-integer-overflow in digits"),
        (DEADLY, "libFuzzer deadly signal in scan_once"),
        (
            "==1==ERROR: AddressSanitizer: attempting double-free on 0x1 in thread T0:\n",
            "AddressSanitizer double-free in unknown code",
        ),
        (
            "==1==ERROR: AddressSanitizer: requested allocation size 0xff exceeds\n"
            "    #0 0x1 in grow a.c:1\nSUMMARY: AddressSanitizer: allocation-size-too-big a.c:1\n",
            "AddressSanitizer allocation-size-too-big in grow",
        ),
        (
            "==1==ERROR: AddressSanitizer: SEGV on unknown address 0x0 (pc 0x1)\n"
            "==1==The signal is caused by a WRITE memory access.\n    #0 0x1 in _PyEval_Vector\n",
            "AddressSanitizer SEGV WRITE in _PyEval_Vector",
        ),
    ],
)
def test_each_tools_report_is_read(text, kind):
    report = read_report(text)
    assert report is not None
    assert report.kind == kind


@pytest.mark.parametrize(
    "text",
    [
        "",
        "#2 INITED cov: 3 ft: 3 corp: 1/1b\nDone 9 runs in 1 second(s)\n",
        "==1== ERROR: libFuzzer: timeout after 5 seconds\n",
        "=== Uncaught Python exception: ===\nRuntimeError: a runtime error: of Python\n",
        "ERROR: AddressSanitizer is a word of the input",
        "\0\xff" * 50,
    ],
)
def test_what_is_no_report_is_no_finding(text):
    assert read_report(text) is None


def test_only_the_stack_of_the_fault_counts():
    report = read_report(
        HEAP.replace("    #2 0x7fd3a97c3452", "\nfreed here:\n    #2 0x7fd3a97c3452")
    )
    assert report is not None
    assert report.frames == ("Reader::next",)


def test_an_endless_recursion_is_known_by_its_cycle_wherever_it_ended():
    def report(*innermost: str):
        names = [*innermost, *["array", "value"] * 9]
        lines = [f"    #{n} 0x7f{n} in {name} /src/a.c:{n}:1" for n, name in enumerate(names)]
        head = "==1==ERROR: AddressSanitizer: stack-overflow on address 0x7ffe (pc 0x1)"
        return read_report("\n".join([head, *lines]))

    assert report("memo", "value") == report() == report("value")
    assert report().kind == "AddressSanitizer stack-overflow in array < value"


def test_a_report_that_breaks_off_anywhere_is_still_a_finding():
    begin = HEAP.index("READ of")
    found = [read_report(HEAP[:end]) for end in range(begin, len(HEAP))]
    assert all(found)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("read me", "AddressSanitizer heap-buffer-overflow READ in past_the_end < loads"),
        ("pymem", "AddressSanitizer heap-buffer-overflow READ in past_the_end_of_python < loads"),
        ("free me", "AddressSanitizer heap-use-after-free WRITE in after_free < loads"),
        ("null", "AddressSanitizer SEGV WRITE in through_null < loads"),
    ],
)
def test_a_real_fault_has_the_same_signature_each_time(broken, text, kind):
    first, second = broken.says(text), broken.says(text)
    addresses = [set(re.findall(r"0x[0-9a-f]{9,}", said)) for said in (first, second)]
    assert addresses[0] != addresses[1]
    found = [read_report(said) for said in (first, second)]
    assert found[0] == found[1] != None  # noqa: E711 - compared, and something
    assert found[0].kind == kind


def test_a_healthy_input_yields_no_finding(broken):
    assert read_report(broken.says("well")) is None
    assert broken.says("well") == ""


def test_a_deadly_signal_is_a_finding_without_address_sanitizer_too(unwatched):
    found = read_report(unwatched.says("null"))
    assert found is not None
    assert "UndefinedBehaviorSanitizer SEGV WRITE in through_null < loads" in found.kind
    assert read_report(unwatched.says("read me")) is None


def test_the_fuzzer_leaves_the_input_and_the_report_of_a_memory_fault(broken, tmp_path):
    target = tmp_path / "fuzz_overrun.py"
    target.write_text(
        "import sys, atheris, overrun\n"
        "atheris.Setup(sys.argv, lambda data: overrun.loads(data.decode('latin-1')))\n"
        "atheris.Fuzz()\n"
    )
    done = python(
        broken.env, str(target), "-runs=200000", "-seed=1", f"-artifact_prefix={tmp_path}/"
    )
    found = read_report(done.stderr)
    assert found is not None, done.stderr[-500:]
    (artifact,) = tmp_path.glob("crash-*")
    again = python(broken.env, str(target), str(artifact))
    assert read_report(again.stderr) == found
