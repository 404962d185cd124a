// Rules for all JavaScript of the tree. `script/javascript` runs them, and installs what this imports.
import { createRequire } from 'node:module';

const require = createRequire(new URL('./target/javascript/package.json', import.meta.url));
const js = require('@eslint/js');
const globals = require('globals');

export default [
  { ignores: ['target/'] },
  js.configs.recommended,
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  {
    rules: {
      eqeqeq: 'error',
      'no-unused-vars': ['error', { args: 'all', argsIgnorePattern: '^_' }],
      'no-var': 'error',
      'prefer-const': ['error', { destructuring: 'all' }],
    },
  },
  { files: ['crates/*/src/**/*.js'], languageOptions: { sourceType: 'script', globals: globals.browser } },
  {
    files: ['crates/browser/src/script/*.js'],
    languageOptions: { sourceType: 'module' },
    rules: {
      // The sets of characters to remove contain some.
      'no-control-regex': 'off',
      // Checks that the page cannot replace: see intrinsics.js.
      'no-restricted-syntax': [
        'error',
        { selector: "MemberExpression[object.name='document']", message: 'The page can override it: use intrinsics.js.' },
      ],
    },
  },
  { files: ['**/*.mjs', '**/*.cjs'], languageOptions: { globals: globals.node } },
];
