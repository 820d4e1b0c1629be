/**
 * The accent of the portal: one colour of the operator, from which follow the colour of the dark
 * theme and the tints of both. Text in each has a contrast of at least 4.5 on every surface of its
 * theme (WCAG 2.2, 1.4.3). Pure.
 */
import { contrastOf, mixColours } from '../../kernel/colour.ts'

export const CONTRAST_MIN = 4.5

/** The surfaces of the pages' stylesheet (`tokens.css`): paper, ground, sunk. */
const LIGHT = ['#ffffff', '#f4f5f6', '#eef0f2']
const DARK = ['#171b21', '#101317', '#1e232b']
const LIGHT_TINT = 0.08
const DARK_TINT = 0.14
/** The step in which a colour becomes lighter, as a share of white. */
const STEP = 0.04

export interface Accent {
  readonly light: string
  readonly lightTint: string
  readonly dark: string
  readonly darkTint: string
}

const lowestContrast = (colour: string, surfaces: readonly string[]): number =>
  Math.min(...surfaces.map((surface) => contrastOf(colour, surface)))

/** Returns the lowest contrast of a colour with the surfaces of the light theme. */
export const accentContrast = (colour: string): number =>
  lowestContrast(colour, [...LIGHT, mixColours(colour, LIGHT[0]!, LIGHT_TINT)])

/** Returns the colours of both themes; the dark one is lightened until it is readable. */
export function deriveAccent(colour: string): Accent {
  for (let white = 0; ; white += STEP) {
    const dark = mixColours('#ffffff', colour, Math.min(white, 1))
    const darkTint = mixColours(dark, DARK[0]!, DARK_TINT)
    if (lowestContrast(dark, [...DARK, darkTint]) < CONTRAST_MIN) continue
    return { light: colour, lightTint: mixColours(colour, LIGHT[0]!, LIGHT_TINT), dark, darkTint }
  }
}
