/**
 * The colours of the pages: contrast on every ground (WCAG 1.4.3, 1.4.11), and the distance of
 * chart colours as readers with a colour vision deficiency see them (Machado 2009, severity 1).
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'

const css = readFileSync(
  new URL('../../packages/pages/src/styles/tokens.css', import.meta.url),
  'utf8',
)

type Rgb = readonly [number, number, number]
type Theme = 'light' | 'dark'
const THEMES: readonly Theme[] = ['light', 'dark']

const parse = (hex: string): Rgb =>
  [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16) / 255) as unknown as Rgb

const tokens = new Map(
  [...css.matchAll(/--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)/g)].map(
    ([, name, light, dark]) => [name!, { light: parse(light!), dark: parse(dark!) }] as const,
  ),
)
const colour = (name: string, theme: Theme): Rgb => {
  const token = tokens.get(name)
  assert.ok(token, name)
  return token[theme]
}

const linear = (value: number): number =>
  value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
const encoded = (value: number): number =>
  value <= 0.0031308 ? value * 12.92 : 1.055 * value ** (1 / 2.4) - 0.055
const luminance = (rgb: Rgb): number => {
  const [r, g, b] = rgb.map(linear) as unknown as Rgb
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}
const contrast = (a: Rgb, b: Rgb): number => {
  const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x) as [number, number]
  return (high + 0.05) / (low + 0.05)
}

const GROUNDS = ['paper', 'ground', 'sunk']
/** Text on every ground, and on its own tint. */
const TEXTS: readonly (readonly [name: string, tint?: string])[] = [
  ['ink'],
  ['soft'],
  ['faint'],
  ['accent', 'accent-ground'],
  ['ok', 'ok-ground'],
  ['warn', 'warn-ground'],
  ['bad', 'bad-ground'],
  ['hold', 'hold-ground'],
]

for (const theme of THEMES) {
  test(`text has a contrast of 4.5 on every ground, ${theme}`, () => {
    for (const [name, tint] of TEXTS) {
      for (const ground of [...GROUNDS, ...(tint ? [tint] : [])]) {
        const ratio = contrast(colour(name, theme), colour(ground, theme))
        assert.ok(ratio >= 4.5, `${name} on ${ground}: ${ratio.toFixed(2)}`)
      }
    }
    for (const tint of ['ok-ground', 'warn-ground', 'bad-ground', 'accent-ground', 'hold-ground']) {
      assert.ok(contrast(colour('ink', theme), colour(tint, theme)) >= 4.5, `ink on ${tint}`)
    }
    for (const name of ['ink', 'bad']) {
      assert.ok(contrast(colour('paper', theme), colour(name, theme)) >= 4.5, `paper on ${name}`)
    }
  })

  test(`borders of controls and chart colours have a contrast of 3, ${theme}`, () => {
    const names = [...tokens.keys()].filter((name) => name.startsWith('s-'))
    assert.equal(names.length, 7)
    for (const name of ['line', ...names]) {
      const ratio = contrast(colour(name, theme), colour('paper', theme))
      assert.ok(ratio >= 3, `${name}: ${ratio.toFixed(2)}`)
    }
  })
}

/** Machado, Oliveira and Fernandes 2009, severity 1.0, on linear RGB. */
const VISIONS: Readonly<Record<string, readonly Rgb[]>> = {
  normal: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protan: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deutan: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritan: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
}

function simulate(rgb: Rgb, matrix: readonly Rgb[]): Rgb {
  const values = rgb.map(linear)
  return matrix.map((row) => {
    const value = row.reduce((sum, factor, at) => sum + factor * values[at]!, 0)
    return encoded(Math.min(1, Math.max(0, value)))
  }) as unknown as Rgb
}

const XYZ: readonly Rgb[] = [
  [0.4124564, 0.3575761, 0.1804375],
  [0.2126729, 0.7151522, 0.072175],
  [0.0193339, 0.119192, 0.9503041],
]
const WHITE: Rgb = [0.95047, 1, 1.08883]

function lab(rgb: Rgb): Rgb {
  const values = rgb.map(linear)
  const [x, y, z] = XYZ.map((row, at) => {
    const t = row.reduce((sum, factor, n) => sum + factor * values[n]!, 0) / WHITE[at]!
    return t > 216 / 24389 ? Math.cbrt(t) : (24389 / 27) * (t / 116) + 16 / 116
  }) as unknown as Rgb
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)]
}

const distance = (a: Rgb, b: Rgb): number => {
  const [p, q] = [lab(a), lab(b)]
  return Math.hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2])
}

const SETS = [
  ['s-ok', 's-redirect', 's-client', 's-server'],
  ['s-a', 's-b', 's-c'],
]
const LEAST = 20

for (const theme of THEMES) {
  for (const [vision, matrix] of Object.entries(VISIONS)) {
    test(`colours of one chart differ by ${LEAST}, ${theme}, ${vision}`, () => {
      for (const names of SETS) {
        for (const [at, name] of names.entries()) {
          for (const other of names.slice(at + 1)) {
            const [a, b] = [name, other].map((key) => simulate(colour(key, theme), matrix))
            const value = distance(a!, b!)
            assert.ok(value >= LEAST, `${name} and ${other}: ${value.toFixed(1)}`)
          }
        }
      }
    })
  }
}
