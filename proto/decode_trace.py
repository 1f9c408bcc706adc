"""Decodes a .heaptape file by FORMAT.md alone, to the lines of `heaptape cat`.

Usage: zstd -dc x.heaptape | PYTHONPATH=DIR decode_trace.py, where DIR holds what
`protoc --python_out` makes of trace.proto. Not for damaged files.
"""

import sys

from google.protobuf.internal.decoder import _DecodeVarint

import trace_pb2

KINDS = ("malloc free calloc realloc realloc_begin realloc_end memalign aligned_alloc posix_memalign valloc pvalloc "
         "thread_start thread_end mallopt malloc_trim fork").split()
MALLOC, FREE, CALLOC, REALLOC, REALLOC_BEGIN, REALLOC_END = range(6)
ALLOCATIONS = (MALLOC, CALLOC, REALLOC, REALLOC_END, 6, 7, 8, 9, 10)
THREAD_START, THREAD_END, MALLOPT, MALLOC_TRIM, FORK = range(11, 16)
MASK = (1 << 64) - 1


def chunk(size):
    return max(32, (size + 23 & MASK) & ~15)


def size_class(size):
    c = chunk(size)
    if c <= 1040:
        return c // 16 - 2
    bits = c.bit_length()
    return min(95, 64 + 2 * (bits - 11) + (c >> (bits - 2) & 1))


def decode(batch):
    """Yields (kind, thread, address, old_address, size, alignment) of each event."""
    calls, addresses = iter(batch.calls), iter(batch.addresses)
    blocks, fresh, stacks = [], {}, {}  # stacks by (thread, class)
    thread = last_free = 0

    def written(base):
        return base + (next(addresses) << batch.address_shift) & MASK

    def predicted(size):
        stack = stacks.get((thread, size_class(size)))
        return stack[-1] if stack else fresh.get(thread, 0)

    def new_address(size, is_predicted):
        return predicted(size) if is_predicted else written(fresh.get(thread, 0))

    def refer(reference):
        nonlocal last_free
        if reference == 0:
            last_free = written(last_free)
            return last_free
        address, size = blocks[-reference]
        stack = stacks.setdefault((thread, size_class(size)), [])
        stack.append(address)
        del stack[:-8]
        return address

    def allocate(address, size):
        if address == 0:
            return
        stack = stacks.get((thread, size_class(size)))
        if stack and stack[-1] == address:
            stack.pop()
        fresh[thread] = address + chunk(size) & MASK
        blocks.append((address, size))

    for word in calls:
        code, value = word & 7, word >> 3
        kind, address, old, size, alignment = MALLOC, 0, 0, 0, 0
        if code == 7:
            thread = value
            continue
        if code == 0:
            kind, address = FREE, refer(value)
        elif code in (1, 2):
            size = value
            address = new_address(size, code == 1)
            allocate(address, size)
        elif code == 3:
            kind, size = REALLOC, value
            address = old = refer(next(calls))
            allocate(address, size)
        elif code == 4:
            kind, size = REALLOC, value >> 1
            address = new_address(size, value & 1)
            old = refer(next(calls))
            allocate(address, size)
        elif code == 5:
            kind, size = CALLOC, value >> 1
            address = new_address(size, value & 1)
            allocate(address, size)
        else:
            kind, size = value, next(calls)
            alignment = next(calls) if 6 <= kind <= 10 else 0
            old = next(calls) if kind in (REALLOC, REALLOC_BEGIN, MALLOPT) else 0
            if kind in (MALLOPT, MALLOC_TRIM):
                address = next(calls)
            elif kind not in (FREE, REALLOC_BEGIN, THREAD_START, THREAD_END, FORK):
                address = new_address(size, False)
                allocate(address, size)
        yield kind, thread, address, old, size, alignment


class CompactedTrace:
    """Batches whose blocks go by rank; each needs all those before it."""

    def __init__(self):
        self.live = []  # addresses, in order of allocation
        self.pending = {}  # by thread: blocks in a realloc that has begun
        self.allocations = 0

    def make(self):
        self.allocations += 1
        self.live.append(16 * (self.allocations + 1))
        return self.live[-1]

    def refer(self, reference, released):
        if reference < 2:
            return 16 * reference
        at = len(self.live) - 1 - (reference - 2)
        return self.live.pop(at) if released else self.live[at]

    def result(self, result):
        if result < 2:
            return self.make() if result else 0
        self.live.append(self.refer(result, True))
        return self.live[-1]

    def decode(self, batch):
        """As the function decode."""
        calls = iter(batch.calls)
        references = calls if batch.layout == 1 else iter(batch.references)
        thread = 0
        for word in calls:
            code, value = word & 7, word >> 3
            kind, address, old, size, alignment = MALLOC, 0, 0, value, 0
            if code == 7:
                thread = value
                continue
            if code == 0:
                kind, size = FREE, 0
                address = self.refer(value if batch.layout == 1 else next(references), True)
            elif code == 1:
                address = self.make()
            elif code in (3, 4):
                kind = REALLOC
                old = self.refer(next(references), code == 3 or size == 0)
                address = self.make() if code == 3 else 0
            elif code == 5:
                kind, address = CALLOC, self.make()
            elif code == 6:
                kind, size = value, next(calls)
                alignment = next(calls) if 6 <= kind <= 10 else 0
                old = next(calls) if kind == MALLOPT else 0
                address = next(calls) if kind in (MALLOPT, MALLOC_TRIM) else 0
                reference = next(references) if kind in (REALLOC, REALLOC_BEGIN) else 0
                result = next(references) if kind in ALLOCATIONS else 0
                if kind in (REALLOC, REALLOC_BEGIN):
                    old = self.refer(reference, kind == REALLOC_BEGIN or result != 0 or size == 0)
                if kind == REALLOC_BEGIN:
                    self.pending.setdefault(thread, []).append(old if reference >= 2 else 0)
                if kind == REALLOC_END:
                    block = self.pending[thread].pop() if self.pending.get(thread) else 0
                    if block and result == 0 and size != 0:
                        self.live.append(block)
                if kind in ALLOCATIONS:
                    address = self.result(result)
            yield kind, thread, address, old, size, alignment


def text(kind, address, old, size, alignment):
    signed = [(n & 0xFFFFFFFF ^ 0x80000000) - 0x80000000 for n in (size, old)]
    arguments = {FREE: f"{address:#x}", CALLOC: f"1, {size}", REALLOC: f"{old:#x}, {size}", REALLOC_BEGIN: f"{old:#x}",
                 THREAD_START: f"tid {size}", THREAD_END: "", MALLOPT: f"{signed[0]}, {signed[1]}"}.get(kind, f"{size}")
    if 6 <= kind <= 8:
        arguments = f"{1 << alignment}, {size}"
    result = f" = {address}" if kind in (MALLOPT, MALLOC_TRIM) else f" = {address:#x}"
    returns = kind not in (FREE, REALLOC_BEGIN, THREAD_START, THREAD_END, FORK)
    return f"{KINDS[kind]}({arguments}){result if returns else ''}"


def main():
    content, at = sys.stdin.buffer.read(), 0
    compacted = CompactedTrace()
    while at < len(content):
        length, at = _DecodeVarint(content, at)
        record = trace_pb2.Record.FromString(content[at:at + length])
        at += length
        events = compacted.decode(record.events) if record.events.layout else decode(record.events)
        for number, (kind, thread, *fields) in enumerate(events, record.events.first_event):
            print(f"{number} t{thread} {text(kind, *fields)}")


if __name__ == "__main__":
    main()
