/**
 * The header of dry runs (`Prefer: dry-run`), on the responses that they share with writes. A 204
 * becomes a 200 in a dry run, which no operation declares: clients choose the type of a success by
 * the operation, and would read the report from an empty body. The gate does not compare the
 * header: it follows from the parameter.
 */
import type { JsonSchema } from '../fields/json-schema.ts'
import { objectOf, operationsIn } from './schema-walk.ts'

const PARAMETER = '"#/components/parameters/Prefer"'
const HEADER = { $ref: '#/components/headers/Preference-Applied' }

/** Completes the operations that have dry runs. In place. */
export function addDryRuns(document: JsonSchema): void {
  for (const { operation } of operationsIn(document.paths)) {
    if (!JSON.stringify(operation.parameters ?? []).includes(PARAMETER)) continue
    const responses = objectOf(operation.responses)
    for (const status of Object.keys(responses).filter((key) => key.startsWith('2'))) {
      if (status === '204') continue
      const response = objectOf(responses[status])
      response.headers = { ...objectOf(response.headers), 'Preference-Applied': HEADER }
    }
  }
}
