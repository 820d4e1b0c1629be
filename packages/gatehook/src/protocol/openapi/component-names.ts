/**
 * Names that the schema of a resource cannot have in OpenAPI documents: those of the engine's
 * schemas, and types of the languages in which tools generate clients. Pure.
 */

/** A test compares these with the documents of versions. */
const ENGINE = [
  'Delivery DeliveryList Event EventList SentRequest',
  'Webhook WebhookItem WebhookList WebhookWithSecret',
  'ErrorBody ErrorCode ErrorDetail ListCursors ListMeta Problem',
]

const LANGUAGES = [
  // TypeScript and the web
  'Array Blob Boolean Date Error File FormData Function Headers Map Number Object Pick Promise',
  'Omit Partial Record Request Required Response Set String Symbol',
  // Python
  'Any BaseModel Dict Enum Exception False Field List None Optional True Tuple Union',
  // Java, Kotlin
  'Byte Character Class Double Exception Float Integer Iterable Long Override Process Short',
  'Thread Throwable Type Void',
  // Rust
  'Box Debug Default From Into Option Ok Err Result Self Some Vec',
  // Files that the tools write beside the schemas
  'Api ApiClient ApiException Client Config Configuration Model',
]

const RESERVED: ReadonlySet<string> = new Set(
  [...ENGINE, ...LANGUAGES].flatMap((words) => words.split(' ')),
)

/** Returns whether a schema of the name would hide another one. */
export const isReservedComponent = (name: string): boolean => RESERVED.has(name)
