/** The body of an operation: `operation-bodies.ts` reads it from the OpenAPI document. */

export interface BodyMember {
  readonly name: string
  /** `string`, `integer`, `boolean`, `array` or `object`. */
  readonly json: string
  readonly required: boolean
  readonly nullable: boolean
  readonly format?: string
  /** The values of an enumeration, also of the items of a list. */
  readonly values?: readonly string[]
  /** The most characters of a text. */
  readonly max?: number
  readonly describe?: string
  /** The members of an object, also of the items of a list. */
  readonly members?: readonly BodyMember[]
}
