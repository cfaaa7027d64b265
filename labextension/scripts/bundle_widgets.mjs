// Bundles each src/widgets/*.ts (compiled into lib) as one ES module for anywidget, with the style sheets beside it.
import { readdirSync, readFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rspack } from '@rspack/core';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const target = join(root, '..', 'nbtools', 'notebook', 'static');
const compiled = join(root, 'lib', 'widgets');
const names = readdirSync(compiled).filter(name => name.endsWith('.js'));

rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });

/** Returns the style sheet with its imports in place. */
const css = name => readFileSync(join(root, 'style', name), 'utf8').replace(/@import '\.\/(.+?)';\n?/g, (_, part) => css(part));
writeFileSync(join(target, 'widgets.css'), css('index.css') + css('host.css'));
// Each question travels with its style sheet: only with what it uses, without comments and indentation.
const QUESTION = ['theme.css', 'card.css', 'blocks.css', 'approval.css', 'host.css'];
const short = text => text.replace(/\/\*[^]*?\*\//g, '').replace(/\n\s*/g, '\n');
writeFileSync(join(target, 'question.css'), short(QUESTION.map(css).join('')));

const compiler = rspack({
  mode: 'production',
  context: root,
  devtool: false,
  entry: Object.fromEntries(names.map(name => [name.slice(0, -3), join(compiled, name)])),
  output: { path: target, filename: '[name].js', module: true, chunkFormat: 'module', library: { type: 'module' } },
  optimization: { splitChunks: false, runtimeChunk: false }
});
compiler.run((error, stats) => {
  const failed = error ?? (stats.hasErrors() ? stats.toString('errors-only') : null);
  if (failed) {
    console.error(failed);
    process.exitCode = 1;
  }
  compiler.close(() => {});
});
