import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changelogMarkdown, changelogOf } from './changelog.ts'

const change = (version: string, why: string, had: string[], hadNot: string[], renamed = {}) => ({
  version,
  why,
  had: Object.fromEntries(had.map((name) => [name, {}])),
  hadNot,
  renamed,
  up: () => ({}),
  down: () => ({}),
})

const service = {
  versions: [
    { name: 'v1', released: '2024-01-01' },
    { name: 'v2', released: '2025-01-01' },
    { name: 'v3', released: '2026-01-01' },
  ],
  resources: [
    {
      name: 'people',
      changes: [
        change('v3', 'Names are two fields.', ['full_name'], ['first', 'last']),
        change('v2', 'Mail is e-mail.', ['mail'], ['email'], { mail: 'email' }),
      ],
    },
    { name: 'pets', changes: [change('v3', 'Ages are numbers.', ['age'], ['age'])] },
  ],
  routes: [
    { method: 'POST', path: '/feed', changes: [change('v2', 'Grams.', ['kg'], ['g'])] },
    { method: 'GET', path: '/ages', changes: [] },
  ],
}

test('the changelog lists the breaking changes of each version, newest first', () => {
  const text = changelogMarkdown(changelogOf(service))
  assert.equal(
    text,
    [
      '## v3 (2026-01-01)\n',
      '- **people**: Names are two fields. (first, last in place of full_name)',
      '- **pets**: Ages are numbers. (age changed)\n',
      '## v2 (2025-01-01)\n',
      '- **people**: Mail is e-mail. (mail → email)',
      '- **POST /feed**: Grams. (g in place of kg)\n',
      '## v1 (2024-01-01)\n',
      'No breaking changes.\n',
    ].join('\n'),
  )
})
