/**
 * The responses of dry runs (`Prefer: dry-run`): the header, and the report where the operation
 * itself returns no body. The gate does not compare them: they follow from the parameter.
 */
import type { JsonSchema } from '../fields/schema.ts'
import { objectOf, operationsIn } from './schema-walk.ts'

const PARAMETER = '"#/components/parameters/Prefer"'
const REPORT = 'DryRunReport'

/** Completes the operations that have dry runs. In place. */
export function addDryRuns(document: JsonSchema): void {
  const operations = operationsIn(document.paths).filter(({ operation }) =>
    JSON.stringify(operation.parameters ?? []).includes(PARAMETER),
  )
  if (operations.length === 0) return
  const schemas = objectOf(objectOf(document.components).schemas)
  for (const { operation } of operations) {
    const responses = objectOf(operation.responses)
    const isEmpty = objectOf(responses[204]).description !== undefined
    if (isEmpty && responses[200] === undefined) {
      schemas[REPORT] ??= reportSchema
      responses['2XX'] = reportResponse // a 200, after the response that readers take first
    }
    for (const status of Object.keys(responses).filter((key) => key.startsWith('2'))) {
      const response = objectOf(responses[status])
      const header = { $ref: '#/components/headers/Preference-Applied' }
      response.headers = { ...objectOf(response.headers), 'Preference-Applied': header }
    }
  }
}

const EVENT_TYPE = 'thing.created'

const events = {
  description: 'The events that the caller may read.',
  type: 'array',
  items: {
    type: 'object',
    required: ['type', 'data'],
    properties: {
      type: { type: 'string', description: 'The type.', examples: [EVENT_TYPE] },
      data: { type: 'object', description: 'The object of the event.' },
    },
  },
  examples: [[{ type: EVENT_TYPE, data: { object: { id: 121 } } }]],
}

const deliveries = {
  description: 'The deliveries, for a caller that may read them.',
  type: 'array',
  items: {
    type: 'object',
    required: ['webhook_id', 'event_type', 'api_version'],
    properties: {
      webhook_id: { type: 'string', description: 'The registration.', examples: ['wh_5Q8mZ2'] },
      event_type: { type: 'string', description: 'The type.', examples: [EVENT_TYPE] },
      api_version: { type: 'string', description: 'The version of the body.', examples: ['v2'] },
    },
  },
}

const reportSchema: JsonSchema = {
  description: 'The effects that a write would have.',
  type: 'object',
  required: ['_dry_run'],
  properties: {
    _dry_run: {
      description: 'The effects. Other responses of dry runs have this member too.',
      type: 'object',
      required: ['status', 'event_count', 'events'],
      properties: {
        status: { type: 'integer', description: 'The status of the write.', examples: [204] },
        event_count: {
          type: 'integer',
          minimum: 0,
          description: 'The number of its events.',
          examples: [1],
        },
        events,
        deliveries,
      },
    },
  },
}

const reportResponse: JsonSchema = {
  description: '200, with `Prefer: dry-run`: the report. Nothing was stored.',
  content: { 'application/json': { schema: { $ref: `#/components/schemas/${REPORT}` } } },
}
