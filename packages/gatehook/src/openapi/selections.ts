/**
 * The rows of a list whose request has `fields`: they lack members that other rows have (§7.7,
 * decision 0042). The gate does not compare them; they follow from the row and the parameter.
 */
import type { JsonSchema } from '../fields/schema.ts'
import { objectOf, operationsIn, schemaNameOf } from './schema-walk.ts'

/** The parameter that selects members. */
const FIELDS = 'fields'

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** Adds a form to the page of each list that has the parameter. In place. */
export function addSelections(document: JsonSchema): void {
  const schemas = objectOf(objectOf(document.components).schemas)
  for (const { operation } of operationsIn(document.paths)) {
    if (!listOf(operation.parameters).some((value) => objectOf(value).name === FIELDS)) continue
    const content = objectOf(objectOf(objectOf(operation.responses)[200]).content)
    const pageName = schemaNameOf(objectOf(content['application/json']).schema)
    if (pageName !== undefined) addSelection(schemas, pageName)
  }
}

function addSelection(schemas: JsonSchema, pageName: string): void {
  const { oneOf, ...page } = objectOf(schemas[pageName])
  const styles = listOf(oneOf)
  const data = objectOf(objectOf(objectOf(styles[0]).properties).data)
  const rowName = schemaNameOf(data.items)
  if (rowName === undefined) return
  const { required: _required, ...row } = objectOf(schemas[rowName])
  const selectionName = `${rowName}Selection`
  schemas[selectionName] = { ...row, description: `${rowName}: the members that \`fields\` names.` }
  // Not oneOf: a page without rows, or with all members, also has the form of its style.
  schemas[pageName] = { ...page, anyOf: [...styles, selectionForm(data, selectionName)] }
}

/**
 * The form has no member of a single style: by the members of the styles a typed client
 * distinguishes whole rows, so that these remain required.
 */
const selectionForm = (data: JsonSchema, selectionName: string): JsonSchema => ({
  title: FIELDS,
  description: 'With `fields`: the page in its style, whose rows have the selected members.',
  type: 'object',
  required: ['data'],
  properties: { data: { ...data, items: { $ref: `#/components/schemas/${selectionName}` } } },
})
