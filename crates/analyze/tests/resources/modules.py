"""Prints modules and annotations of a trace with their times: a second computation of what `modules.rs` checks.

    python3 modules.py TRACE [NAME ...]

Every span finds what encloses it by a stack per thread, every kernel its launch call by correlation id, and every function of autograd its forward operator by sequence
number: the last operator of that number outside of any function. Columns: calls, host, self, backward host, device, device self, backward device; microseconds.
"""

import collections
import gzip
import json
import sys

DEVICE = {"kernel", "gpu_memcpy", "gpu_memset"}
CALLS = {"cuda_runtime", "cuda_driver"}


def is_scope(event):
    name = event["name"]
    is_module = name.startswith(("nn.Module: ", "[pl][module]"))
    return is_module or (event["cat"] == "user_annotation" and not name.startswith("ProfilerStep"))


def is_function(event):
    return event["name"].startswith("autograd::engine::evaluate_function")


def main(path, wanted):
    opened = gzip.open(path, "rt") if path.endswith(".gz") else open(path)
    events = [e for e in json.load(opened)["traceEvents"] if e.get("ph") == "X" and e.get("dur", 0) > 0]
    nanos = lambda us: round(us * 1000)
    lanes = collections.defaultdict(list)
    for order, event in enumerate(events):
        start = nanos(event["ts"])
        event["span"] = (start, start + nanos(event["dur"]), order)
        # Steps can overlap the calls that begin and end them.
        is_step = event["name"].startswith("ProfilerStep")
        if not is_step and event.get("cat") not in DEVICE | {"gpu_user_annotation", "Trace", "cuda_sync"}:
            lanes[event["pid"], event["tid"]].append(event)
    # Around each span, from the outermost: scopes and functions.
    self_nanos, forward = {}, {}
    for lane in lanes.values():
        lane.sort(key=lambda e: (e["span"][0], -e["span"][1], e["span"][2]))
        stack = []
        for event in lane:
            start, end, order = event["span"]
            while stack and stack[-1]["span"][1] <= start:
                stack.pop()
            assert not stack or stack[-1]["span"][1] >= end, f"{event['name']} overlaps {stack[-1]['name']}"
            event["path"] = [e for e in stack if is_scope(e) or is_function(e)]
            event["path"] += [event] if is_scope(event) or is_function(event) else []
            self_nanos[order] = end - start
            if stack:
                self_nanos[stack[-1]["span"][2]] -= end - start
            stack.append(event)
            sequence = event.get("args", {}).get("Sequence number")
            if sequence is not None and not (event["path"] and is_function(event["path"][-1])):
                forward[sequence] = event
    rows = collections.defaultdict(lambda: [0] * 7)
    calls, device = {}, []
    for event in events:
        correlation = event.get("args", {}).get("correlation")
        if event.get("cat") in CALLS:
            calls.setdefault(correlation, event)
        elif event.get("cat") in DEVICE:
            device.append((correlation, event))

    def add(event, nanos, host, own, backward):
        """Adds time at an event: to everything around it, and to everything around the forward operator of its function."""
        path = event["path"]
        names = {e["name"] for e in path if is_scope(e)}
        for name in names:
            rows[name][host] += nanos
        if path and is_scope(path[-1]):
            rows[path[-1]["name"]][own] += nanos
        elif names:
            rows[[e for e in path if is_scope(e)][-1]["name"]][own] += nanos
        if path and is_function(path[-1]):
            operator = forward.get(path[-1]["args"].get("Sequence number"))
            around = {id(e) for e in path}
            outside = {e["name"] for e in operator["path"] if is_scope(e) and id(e) not in around} if operator else ()
            for name in outside:
                rows[name][backward] += nanos

    for lane in lanes.values():
        for event in lane:
            if is_scope(event):
                rows[event["name"]][0] += 1
            add(event, self_nanos[event["span"][2]], 1, 2, 3)
    for correlation, event in device:
        if correlation in calls:
            add(calls[correlation], nanos(event["dur"]), 4, 5, 6)
    for name, row in sorted(rows.items(), key=lambda item: -max(item[1][1] + item[1][3], item[1][4] + item[1][6])):
        if not wanted or name in wanted:
            print(row[0], *(f"{value / 1000:.3f}" for value in row[1:]), name, sep="\t")


main(sys.argv[1], set(sys.argv[2:]))
