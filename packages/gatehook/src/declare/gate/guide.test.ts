/** The section of a guide that each break names exists. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { concernOf, GUIDES } from './guide.ts'

/** Returns the anchors of the headings of a page, as GitHub writes them. */
const anchorsOf = (page: string): string[] =>
  [...page.matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  )

test('each concern has a section of a guide', () => {
  for (const guide of Object.values(GUIDES)) {
    const [path, anchor] = guide.split('#')
    const page = readFileSync(new URL(`../../../../../${path}`, import.meta.url), 'utf8')
    assert.ok(anchorsOf(page).includes(anchor!), guide)
  }
})

test('the place of a break decides its concern', () => {
  const concerns = {
    '#/webhooks': 'event',
    '#/webhooks/a.b/x-scope': 'scope',
    '#/paths/~1x/get/x-scope': 'scope',
    '#/components/schemas/A/properties/b/x-write-scope': 'scope',
    '#/components/schemas/A/properties/b': 'shape',
    '#': 'rule',
  }
  for (const [where, concern] of Object.entries(concerns)) assert.equal(concernOf(where), concern)
})
