import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Figure } from '../../bench/figures.ts'
import { performancePage } from '../../docs/generate/performance.ts'
import { performanceSvg, shareOfTarget } from '../../docs/generate/performance-svg.ts'

const ratio = (figure: Partial<Figure>): Figure => ({
  row: '5',
  title: 'one row by id',
  subject: 'gatehook ÷ hello',
  database: 'sqlite',
  unit: 'ratio',
  value: { median: 0.4, min: 0.3, max: 0.5 },
  ...figure,
})

const pageOf = (figures: readonly Figure[]): string =>
  performancePage({
    node: 'v26.10.0',
    cpu: 'a processor',
    cores: 2,
    rounds: 3,
    seconds: 2,
    parts: { sqlite: { at: '2026-11-25T10:00:00.000Z', figures } },
  })

test('the performance page marks a figure that reaches its target, and no other one', () => {
  const text = pageOf([ratio({ least: 0.35 }), ratio({ least: 0.5 }), ratio({ most: 0.4 })])
  assert.match(text, /\| \*\*0\.40\*\* \| 0\.3–0\.5 \| {2}\| ≥ 0\.35 \|/)
  assert.match(text, /\| 0\.40 \| 0\.3–0\.5 \| {2}\| ≥ 0\.5 \|/)
  assert.match(text, /\| \*\*0\.40\*\* \| 0\.3–0\.5 \| {2}\| ≤ 0\.4 \|/)
  assert.match(text, /2 of 3 figures with a target reach it/)
})

test('the performance page orders rows by number and then by letter', () => {
  const text = pageOf(['10', '1b', '2', '1@100k'].map((row) => ratio({ row })))
  const order = [...text.matchAll(/^\| (\d+b?) \|/gm)].map(([, row]) => row)
  assert.deepEqual(order, ['1', '1b', '2', '10'])
})

test('the plot of performance has the figures with a target, on a bounded axis', () => {
  const figures = [ratio({ least: 0.001 }), ratio({ most: 0.001 }), ratio({})]
  const svg = performanceSvg(figures, () => 'a < b')
  assert.equal([...svg.matchAll(/a &lt; b/g)].length, 2)
  const ends = [...svg.matchAll(/<rect class="[rm]" x="([\d.]+)" y="\d+" width="([\d.]+)"/g)]
  for (const [, x, width] of ends) assert.ok(Number(x) > 0 && Number(x) + Number(width) <= 900)
  assert.equal(shareOfTarget(ratio({ most: 0.8 })), 2)
})
