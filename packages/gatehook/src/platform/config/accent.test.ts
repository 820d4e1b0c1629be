import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { contrastOf } from '../../kernel/colour.ts'
import { accentContrast, CONTRAST_MIN, deriveAccent } from './accent.ts'

const colour = fc
  .integer({ min: 0, max: 0xffffff })
  .map((value) => `#${value.toString(16).padStart(6, '0')}`)

test('contrast is that of WCAG 2.2', () => {
  assert.equal(contrastOf('#000000', '#ffffff'), 21)
  assert.equal(contrastOf('#777777', '#ffffff').toFixed(2), '4.48')
  assert.equal(contrastOf('#123456', '#123456'), 1)
})

test('the accent of the pages is readable', () => {
  assert.ok(accentContrast('#0b5cad') >= CONTRAST_MIN)
  assert.ok(accentContrast('#ffcc00') < CONTRAST_MIN)
})

test('the dark colour of every accent is readable on every dark surface', () => {
  fc.assert(
    fc.property(colour, (accent) => {
      const { dark, darkTint } = deriveAccent(accent)
      for (const surface of ['#171b21', '#101317', '#1e232b', darkTint]) {
        assert.ok(contrastOf(dark, surface) >= CONTRAST_MIN, `${accent} ${dark} on ${surface}`)
      }
    }),
  )
})

test('the surfaces are those of the stylesheet', () => {
  const file = join(import.meta.dirname, '../../../../pages/src/styles/tokens.css')
  const tokens = readFileSync(file, 'utf8')
  const pairs: readonly (readonly [light: string, dark: string])[] = [
    ['#ffffff', '#171b21'],
    ['#f4f5f6', '#101317'],
    ['#eef0f2', '#1e232b'],
  ]
  for (const [light, dark] of pairs) {
    assert.ok(tokens.includes(`light-dark(${light}, ${dark})`), light)
  }
})
