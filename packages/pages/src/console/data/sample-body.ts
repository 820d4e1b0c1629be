/** A body that creates a row, for the command of an empty list: the required fields. */
import type { Resource, ResourceField } from './resource-shapes.ts'

const SAMPLES: Readonly<Record<string, unknown>> = {
  ref: 1,
  email: 'ada@example.com',
  url: 'https://example.com',
  currency: 'EUR',
  bool: true,
  time: '2026-11-24T14:00:00Z',
  date: '2026-11-24',
  time_of_day: '09:30:00',
  duration: 'PT1H30M',
  uuid: '0193a5c0-0000-7000-8000-000000000001',
}

function sampleOf({ type, name, values, min, id_prefix: prefix }: ResourceField): unknown {
  if (values) return values[0]
  if (prefix !== null) return `${prefix}_…`
  if (type === 'int' || type === 'number') return min ?? 1
  return SAMPLES[type] ?? `A ${name.replaceAll('_', ' ')}`
}

export const sampleBody = ({ fields }: Resource): object =>
  Object.fromEntries(
    fields.filter(({ required }) => required).map((field) => [field.name, sampleOf(field)]),
  )
