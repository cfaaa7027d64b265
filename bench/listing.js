// Times the list of an explorer in Node, in milliseconds of the processor: `node bench/listing.js ROWS ROUNDS`; bench/listing.py runs it.
const [total, rounds] = process.argv.slice(2).map(Number);
const module = path => import(new URL(`../labextension/lib/${path}.js`, import.meta.url));
const [{ columnsOf, chipsOf }, { LogRows }, { listing, offeredFacets, nextFailure }, { NO_FILTER }] = await Promise.all(
  ['test/log_rows', 'explorer/log_rows', 'explorer/listing', 'explorer/filter'].map(module)
);

let seed = 1;
const random = below => {
  seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
  return Math.floor((seed / 2 ** 31) * below);
};
const paths = Array.from({ length: 5000 }, (_, i) => `path:src/${i}.py`);
const tools = Array.from({ length: 40 }, (_, i) => `tool:${i}`);
const chips = chipsOf('kind:edits', 'kind:shell', 'kind:reads', 'kind:search', 'end:failed', 'end:stopped', ...tools, ...paths);
const columns = columnsOf(
  Array.from({ length: total }, (_, line) => ({
    subject: `src/package/module_${line}.py`,
    name: `tool ${line % 40}`,
    right: `${random(100)} s`,
    below: line % 10 ? 0 : 9,
    depth: line % 10 ? 1 : 0,
    seconds: random(3) ? random(1e6) / 1e3 : NaN,
    chips: [random(4), ...(random(20) ? [] : [4 + random(2)]), 6 + random(40), 46 + random(5000)]
  }))
);
const load = () => ({ rows: LogRows.empty(total).with(0, columns, chips, 0), facets: [], hits: null });
const log = load();
const folded = Array.from({ length: total / 10 }, (_, i) => 10 * i);
const filter = change => ({ ...NO_FILTER, ...change });
const chosen = filter({ chips: ['kind:edits', 'tool:3', 'end:failed'] });
const figures = {
  'take over the rows, list them and count the choices': () => {
    const loaded = load();
    listing(loaded, NO_FILTER);
    offeredFacets(loaded, NO_FILTER);
  },
  'filter by three facets': () => listing(log, chosen),
  'filter, with every parent folded': () => listing(log, filter({ chips: ['kind:edits'], folded })),
  'sort by duration': () => listing(log, filter({ order: 'duration' })),
  'count the choices': () => offeredFacets(log, chosen),
  'next failure': () => nextFailure(log, filter({ chips: ['kind:edits'] }), total / 2, 1)
};
const used = () => process.cpuUsage().user / 1000;
const result = {};
for (const [name, run] of Object.entries(figures)) {
  run();
  result[name] = Array.from({ length: rounds }, () => {
    const start = used();
    run();
    return used() - start;
  });
}
console.log(JSON.stringify(result));
