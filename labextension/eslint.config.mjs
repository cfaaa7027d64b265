// Rules for the front end: typescript-eslint's recommended ones, and Jupyter's for extensions.
import jupyter from '@jupyter/eslint-plugin';
import tseslint from 'typescript-eslint';

export default tseslint.config(
  { ignores: ['lib', 'node_modules'] },
  {
    files: ['src/**/*.ts', 'src/**/*.tsx'],
    extends: [...tseslint.configs.recommended],
    plugins: { jupyter },
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      ...jupyter.configs.recommended[0].rules,
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: false }],
      'jupyter/prefer-lazy-imports': 'off', // the front end is small, and each plugin needs what it imports at once
      '@typescript-eslint/no-unused-vars': ['error', { varsIgnorePattern: '^_', argsIgnorePattern: '^_' }],
      '@typescript-eslint/no-unused-expressions': ['error', { allowShortCircuit: true, allowTernary: true }]
    }
  },
  { files: ['src/test/**'], rules: { 'jupyter/no-untranslated-string': 'off', '@typescript-eslint/no-floating-promises': 'off' } }
);
