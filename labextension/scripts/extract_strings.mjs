// Prints the translatable strings of `src` as JSON: [{id, plural, context, files}], in the order of their files.
//
// A string is translatable where it is the literal argument of `trans.__`, `_n`, `_p` or `_np`.  Exits 1 with the place of every
// argument that is no literal, because nobody could translate it.

import { readFileSync, readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import ts from 'typescript';

const ROOT = new URL('..', import.meta.url).pathname;
const SOURCES = join(ROOT, 'src');
/** Method → its arguments before the values. */
const METHODS = { __: ['id'], _n: ['id', 'plural'], _p: ['context', 'id'], _np: ['context', 'id', 'plural'] };

const found = new Map();
const problems = [];

function text(node) {
  if (ts.isStringLiteralLike(node)) {
    return node.text;
  }
  if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.PlusToken) {
    const sides = [text(node.left), text(node.right)];
    return sides.includes(null) ? null : sides.join('');
  }
  return ts.isParenthesizedExpression(node) ? text(node.expression) : null;
}

function visit(node, source, file) {
  if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
    const names = Object.hasOwn(METHODS, node.expression.name.text) ? METHODS[node.expression.name.text] : null;
    if (names) {
      add(node, names, source, file);
    }
  }
  ts.forEachChild(node, child => visit(child, source, file));
}

function add(call, names, source, file) {
  const values = names.map((_, i) => (call.arguments[i] ? text(call.arguments[i]) : null));
  if (values.includes(null)) {
    const { line } = source.getLineAndCharacterOfPosition(call.getStart());
    problems.push(`${file}:${line + 1}: only a literal can be translated: ${call.getText(source).slice(0, 80)}`);
    return;
  }
  const entry = { plural: null, context: null, ...Object.fromEntries(names.map((name, i) => [name, values[i]])) };
  const key = JSON.stringify([entry.context, entry.id]);
  const known = found.get(key) ?? { ...entry, files: [] };
  known.plural ??= entry.plural;
  if (!known.files.includes(file)) {
    known.files.push(file);
  }
  found.set(key, known);
}

const files = readdirSync(SOURCES, { recursive: true })
  .filter(name => /\.tsx?$/.test(name) && !name.startsWith('test'))
  .sort();
for (const name of files) {
  const path = join(SOURCES, name);
  const source = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true);
  visit(source, source, relative(ROOT, path));
}
if (problems.length) {
  console.error(problems.join('\n'));
  process.exit(1);
}
console.log(JSON.stringify([...found.values()], null, 1));
