// Compiles src into lib as `tsc` does, with short names for private members: they are a tenth of what pages load, and minifiers cannot
// know that nobody else uses them.  A member is renamed by its symbol, so one that only has the same name stays as it is.
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const host = { ...ts.sys, onUnRecoverableConfigFileDiagnostic: diagnostic => fail([diagnostic]) };
const { fileNames, options, errors } = ts.getParsedCommandLineOfConfigFile(join(root, 'tsconfig.json'), {}, host);
const program = ts.createProgram(fileNames, options);
const checker = program.getTypeChecker();
const shortNames = new Map();

function fail(diagnostics) {
  console.error(ts.formatDiagnostics(diagnostics, { getCurrentDirectory: () => root, getCanonicalFileName: name => name, getNewLine: () => '\n' }));
  process.exit(1);
}

/** Whether a symbol is a private member, or the parameter of a constructor that makes one. */
function isPrivate(symbol) {
  const declaration = symbol?.valueDeclaration;
  const isMember = declaration && (ts.isClassElement(declaration) || ts.isParameter(declaration)) && ts.isIdentifier(declaration.name);
  return Boolean(isMember && ts.getCombinedModifierFlags(declaration) & ts.ModifierFlags.Private);
}

/** One short name for each name: in a hierarchy of classes, only one can have a private member of that name.  No other name begins with $. */
function shortName(name) {
  shortNames.has(name) || shortNames.set(name, `$${shortNames.size.toString(36)}`);
  return ts.factory.createIdentifier(shortNames.get(name));
}

const rename = context => {
  const visit = node => {
    if (ts.isBindingElement(node) && ts.isObjectBindingPattern(node.parent)) {
      const name = node.propertyName ?? node.name;
      const property = ts.isIdentifier(name) && checker.getPropertyOfType(checker.getTypeAtLocation(node.parent), name.text);
      if (isPrivate(property)) {
        const initializer = node.initializer && ts.visitNode(node.initializer, visit);
        return ts.factory.updateBindingElement(node, node.dotDotDotToken, shortName(name.text), ts.visitNode(node.name, visit), initializer);
      }
    }
    if (ts.isShorthandPropertyAssignment(node) && isPrivate(checker.getShorthandAssignmentValueSymbol(node))) {
      return ts.factory.createPropertyAssignment(node.name, shortName(node.name.text));
    }
    if (ts.isIdentifier(node) && isPrivate(checker.getSymbolAtLocation(node))) {
      return shortName(node.text);
    }
    return ts.visitEachChild(node, visit, context);
  };
  return file => ts.visitNode(file, visit);
};

const { diagnostics } = program.emit(undefined, undefined, undefined, false, { before: [rename] });
const found = [...errors, ...ts.getPreEmitDiagnostics(program), ...diagnostics];
found.length && fail(found);
