/** Removes the components of an OpenAPI document that no operation needs. Pure. */
import type { JsonSchema } from '../fields/json-schema.ts'
import { objectOf } from './schema-walk.ts'

const REFERENCE = /"#\/components\/(\w+)\/([^"]+)"/g

/** Security requirements name their schemes without a reference. */
const WITHOUT_REFERENCES = 'securitySchemes'

/** Keeps the components to which the rest of the document leads. */
export function withUsedComponents<D extends JsonSchema>(document: D): D {
  const { components, ...rest } = document
  const used = new Set<string>()
  const follow = (value: unknown): void => {
    for (const [, kind = '', name = ''] of JSON.stringify(value).matchAll(REFERENCE)) {
      const key = `${kind}/${name}`
      if (used.has(key)) continue
      used.add(key)
      follow(objectOf(objectOf(components)[kind])[name] ?? null)
    }
  }
  follow(rest)
  const kinds = Object.entries(objectOf(components)).map(([kind, named]) => {
    const isUsed = ([name]: [string, unknown]) =>
      kind === WITHOUT_REFERENCES || used.has(`${kind}/${name}`)
    return [kind, Object.fromEntries(Object.entries(objectOf(named)).filter(isUsed))] as const
  })
  const usedKinds = kinds.filter(([, named]) => Object.keys(named).length > 0)
  return { ...document, components: Object.fromEntries(usedKinds) }
}
