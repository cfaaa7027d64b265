// Bundles each src/widgets/*.ts (compiled into lib) as one ES module, for anywidget or for shared files, and the style sheets of widgets and extension, minified;
// for tests/browser/cells.py also the module that draws outputs without JupyterLab, which stays in lib.
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rspack } from '@rspack/core';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const target = join(root, '..', 'nbtools', 'notebook', 'static');
const shared = join(root, '..', 'nbtools', 'traces', 'sharing', 'static');
const page = 'shared_page'; // is in the files that people share, without a notebook
const compiled = join(root, 'lib', 'widgets');
const widgets = readdirSync(compiled)
  .map(file => file.replace(/\.js$/, ''))
  .filter(name => name !== page);

for (const folder of [target, shared]) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
}

const entries = (names, file) => Object.fromEntries(names.map(name => [name, file(name)]));
const script = name => join(compiled, `${name}.js`);
const sheet = name => `./style/widget_${name}.css`;
const common = { mode: 'production', context: root, devtool: false };
const scripts = {
  ...common,
  entry: entries(widgets, script),
  output: { path: target, filename: '[name].js', module: true, chunkFormat: 'module', library: { type: 'module' } },
  optimization: { splitChunks: false, runtimeChunk: false },
  module: { parser: { javascript: { dynamicImportMode: 'eager' } } } // a widget is one file
};
const sharedPage = { ...scripts, entry: entries([page], script), output: { ...scripts.output, path: shared } };
const testPage = {
  ...scripts,
  entry: { outputs: './lib/test_page/outputs.js' },
  output: { ...scripts.output, path: join(root, 'lib', 'test_page', 'bundle'), chunkFilename: '[name].js' },
  module: { parser: { javascript: { dynamicImportMode: 'lazy' } }, rules: [{ test: /\.(svg|css)$/, type: 'asset/source' }] }
};

/** Returns how style sheets are bundled: their imports in place, in the CSS of the browsers that JupyterLab supports. */
const sheets = (entry, path, cssFilename) => ({
  ...common,
  entry,
  output: { path, cssFilename },
  module: { rules: [{ test: /\.css$/, type: 'css' }] },
  optimization: {
    minimizer: [
      new rspack.LightningCssMinimizerRspackPlugin({ minimizerOptions: { targets: ['chrome 120', 'firefox 121', 'safari 17.2'] } })
    ]
  }
});

const compiler = rspack([
  scripts,
  sharedPage,
  testPage,
  sheets(entries(widgets, sheet), target, '[name].css'),
  sheets(entries([page], sheet), shared, '[name].css'),
  sheets({ index: './style/index.css', new_call: './style/new_call.css' }, join(root, 'lib', 'style'), '[name].raw.css') // the builder embeds *.raw.css as text
]);
compiler.run((error, stats) => {
  const failed = error ?? (stats.hasErrors() ? stats.toString('errors-only') : null);
  if (failed) {
    console.error(failed);
    process.exitCode = 1;
  }
  compiler.close(() => {});
});
