/** The bytes of the values that a statement returned. */
import type { Value } from '../../src/platform/storage/database.ts'

const bytesOfValue = (value: Value): number =>
  typeof value === 'number' || value === null ? 0 : Buffer.byteLength(value)

export const bytesOfRows = (rows: readonly (readonly Value[])[]): number =>
  rows.flat().reduce((sum: number, value) => sum + bytesOfValue(value), 0)
