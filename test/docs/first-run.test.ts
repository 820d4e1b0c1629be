/** The recorded first run of the README: small, without secrets, and readable without animation. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { plainText, terminalSvg, wrapLine } from '../../docs/generate/terminal-svg.ts'

const read = (path: string): string =>
  readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const recorded = read('docs/images/first-run.svg')

test('the recorded first run has at most 60 kB, no script, and no other file', () => {
  assert.ok(Buffer.byteLength(recorded) <= 60_000, `${Buffer.byteLength(recorded)} bytes`)
  assert.doesNotMatch(recorded, /<script|<image|href=|url\(|@import|\son\w+=/)
  assert.match(recorded, /<title id="title">.+<\/title>/)
  assert.match(read('README.md'), /!\[[^\]]+\]\(docs\/images\/first-run\.svg\)/)
})

test('the recorded first run contains no secret', () => {
  assert.match(recorded, /gk_test_\w{4}…/)
  assert.doesNotMatch(recorded, /gk_(test|live)_\w{5}|#token=[\w-]{5}|whsec_/)
})

test('without animation, or with less motion, every line is visible', () => {
  const svg = terminalSvg(
    [
      { text: '$ \x1b[1mls\x1b[22m -l', atMs: 10, typedMs: 100 },
      { text: '\x1b[2;31ma<b>&c\x1b[0m d', atMs: 250 },
    ],
    { title: 'A title', description: 'A & B', columns: 20 },
  )
  assert.match(svg, /\$ <tspan class="b">ls<\/tspan> -l<\/text>/)
  assert.match(svg, /<tspan class="d r">a&lt;b&gt;&amp;c<\/tspan> d<\/text>/)
  const [still, moving] = svg.split('@media (prefers-reduced-motion:no-preference)')
  assert.doesNotMatch(still!, /opacity|visibility|clip-path|animation:/)
  assert.match(moving!, /animation:show/)
  assert.match(svg, /animation-delay:250ms/)
})

test('a long line breaks at the width, and its style continues', () => {
  const lines = wrapLine('\x1b[36mabcdef\x1b[39mg', 4)
  assert.deepEqual(lines, ['\x1b[36mabcd', '\x1b[36mef\x1b[39mg'])
  assert.deepEqual(lines.map(plainText), ['abcd', 'efg'])
})
