// Times the list of sessions in Node, in milliseconds of the processor: `node bench/sessions.js REPLY DATA ROUNDS`; bench/sessions.py runs it.
import { readFileSync } from 'node:fs';

const [reply, data, rounds] = process.argv.slice(2);
const { SessionStore, listedSessions } = await import(new URL('../labextension/lib/sessions/session_rows.js', import.meta.url));
const bytes = readFileSync(data);
const buffers = [bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength)];
const answer = { ...JSON.parse(readFileSync(reply, 'utf-8')), buffers };
const load = () => {
  const store = new SessionStore();
  store.add(answer);
  return store;
};
const store = load();
const all = { text: '', agent: '', project: '', outcome: '', sort: 'age', descending: true };
const list = (filter, hits = null) => listedSessions(store.rows.values(), { ...all, ...filter }, hits);
const hits = new Set([...store.rows.keys()].filter(key => key % 3 === 0));
const figures = {
  'take over the rows': load,
  'list them by age': () => list({}),
  'filter by agent, project and outcome': () => list({ agent: 'codex', project: 'project7', outcome: 'changed' }),
  'filter by hits of a search': () => list({ text: 'x' }, hits),
  'sort by title': () => list({ sort: 'title', descending: false }),
  'sort by calls': () => list({ sort: 'calls' })
};
const used = () => process.cpuUsage().user / 1000;
const result = {};
for (const [name, run] of Object.entries(figures)) {
  run();
  result[name] = Array.from({ length: Number(rounds) }, () => {
    const start = used();
    run();
    return used() - start;
  });
}
console.log(JSON.stringify(result));
