/** The formats of JSON Schema, as a library that has no part in Gatehook validates them. */
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'

type Validator = Pick<Ajv, 'addFormat'>

const plain = addFormats.default(new Ajv())
const isPlainEmail = plain.compile({ type: 'string', format: 'email' })

/** Adds every format of a document to a validator. It fails for any other format in strict mode. */
export function addPublicFormats(ajv: Validator): void {
  addFormats.default(ajv as Ajv)
  // The library has no addresses beyond ASCII: each such character counts as a letter.
  ajv.addFormat('idn-email', (text: string) => isPlainEmail(text.replace(/[^\x00-\x9f]/gu, 'x')))
  // Of the registry of OpenAPI; the schema has a pattern.
  ajv.addFormat('time-local', true)
}
