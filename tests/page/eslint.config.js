import js from '@eslint/js';
import globals from 'globals';

export default [
  js.configs.recommended,
  {
    languageOptions: { globals: { ...globals.browser, ...globals.node } },
    rules: {
      'prefer-const': 'error',
      // Control characters are what some expressions look for.
      'no-control-regex': 'off',
    },
  },
];
