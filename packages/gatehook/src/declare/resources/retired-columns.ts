/**
 * Columns that no field declares any more, while nodes of the previous release use them. Pure.
 */

import { DeclarationError } from '../../protocol/fields/declaration-mistakes.ts'
import type { FieldSpec } from '../../protocol/fields/fields.ts'

export interface RetiredOptions {
  /**
   * Columns of the table that no field has: the start does not reject them. A migration lets nodes
   * of both releases write them, and a later one drops them: `gatehook check` prints both.
   */
  readonly retired?: readonly string[]
}

export interface RetiredColumns {
  readonly retired: readonly string[]
}

/** Reads the option. Throws `DeclarationError`. */
export function readRetired(
  { retired = [] }: RetiredOptions,
  fields: Readonly<Record<string, FieldSpec>>,
): readonly string[] {
  if (!Array.isArray(retired) || retired.some((name) => typeof name !== 'string')) {
    throw new DeclarationError("retired is an array of column names: ['old_name']")
  }
  const declared = retired.find((name) => Object.hasOwn(fields, name))
  if (declared === undefined) return retired
  throw new DeclarationError(`retired: ${declared} is a field; remove one of them`)
}

/** Returns the columns that a migration adds, so that the previous declaration can be restarted. */
export const columnsAddedBy = (text: string): string[] =>
  [...text.matchAll(/\bADD COLUMN (?:IF NOT EXISTS )?([a-z][a-z0-9_]*)/gi)].map(([, name]) => name!)
