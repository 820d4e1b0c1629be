/** A body that creates a row, for the command of an empty list: the required fields. */
import type { Resource } from './resource-shapes.ts'

export const sampleBody = ({ fields }: Resource): object =>
  Object.fromEntries(
    fields.filter(({ required }) => required).map(({ name, input }) => [name, input.example]),
  )
