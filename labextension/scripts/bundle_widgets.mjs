// Bundles each src/widgets/*.ts (compiled into lib) as one ES module for anywidget, and the style sheets of widgets and extension, minified;
// for tests/browser/cells.py also the module that draws outputs without JupyterLab, which stays in lib.
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rspack } from '@rspack/core';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const target = join(root, '..', 'nbtools', 'notebook', 'static');
const compiled = join(root, 'lib', 'widgets');
const names = readdirSync(compiled).map(file => file.replace(/\.js$/, ''));

rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });

const entries = file => Object.fromEntries(names.map(name => [name, file(name)]));
const common = { mode: 'production', context: root, devtool: false };
const scripts = {
  ...common,
  entry: entries(name => join(compiled, `${name}.js`)),
  output: { path: target, filename: '[name].js', module: true, chunkFormat: 'module', library: { type: 'module' } },
  optimization: { splitChunks: false, runtimeChunk: false }
};
const testPage = {
  ...scripts,
  entry: { outputs: './lib/test_page/outputs.js' },
  output: { ...scripts.output, path: join(root, 'lib', 'test_page', 'bundle'), chunkFilename: '[name].js' },
  module: { rules: [{ test: /\.(svg|css)$/, type: 'asset/source' }] }
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
  testPage,
  sheets(entries(name => `./style/widget_${name}.css`), target, '[name].css'),
  sheets({ index: './style/index.css' }, join(root, 'lib', 'style'), '[name].raw.css') // the builder embeds *.raw.css as text
]);
compiler.run((error, stats) => {
  const failed = error ?? (stats.hasErrors() ? stats.toString('errors-only') : null);
  if (failed) {
    console.error(failed);
    process.exitCode = 1;
  }
  compiler.close(() => {});
});
