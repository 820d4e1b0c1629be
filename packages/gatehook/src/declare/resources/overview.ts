/**
 * The declared resources as data for the console: `GET /admin/resources`. Fields, filters and sorts
 * have the names of the requested version, so that a program can list and change any resource.
 */
import { readSelection, SELECTION } from '../../identity/access/across-customers.ts'
import type { Reader } from '../../platform/storage/database.ts'
import type { FieldSpec } from '../../protocol/fields/fields.ts'
import { toJson } from '../../protocol/fields/forms.ts'
import { b, type JsonOf } from '../../protocol/fields/members.ts'
import type { FieldSpecs } from '../../protocol/fields/schema.ts'
import type { Route } from '../../protocol/http/call.ts'
import { implement, operation, respond } from '../../protocol/http/operation.ts'
import { parameterFailure } from '../../protocol/http/query.ts'
import { readTotal } from '../../protocol/lists/counters.ts'
import { columnNamed } from '../../protocol/lists/filter.ts'
import { type EndpointAction, endpointActions } from './action.ts'
import type { ApiEntry, Catalog } from './catalog.ts'
import { listEventTypes } from './event-type-list.ts'
import { describeInput, fieldInput } from './field-input.ts'
import { EVERY_SCOPE } from './field-rights.ts'
import { owningField } from './ownership.ts'
import type { ResourceDefinition } from './resource.ts'
import type { VersionShape } from './shape.ts'
import { suggestEventType } from './triggerable-event.ts'

const names = () => b.list(b.text())

const resourceField = b
  .object({
    name: b.text().describe('The name in JSON.').example('status'),
    type: b.text().describe('The kind of the field. Later releases have more.').example('one_of'),
    of: b.text().nullable().describe('The collection to which a reference refers.').example(null),
    id_prefix: b
      .text()
      .nullable()
      .describe('The prefix of ids that are texts, also of a reference; null for integers.')
      .example(null),
    values: names().nullable().describe('The values of an enumeration.').example(['draft', 'sent']),
    min: b
      .number()
      .nullable()
      .describe('The minimum of a number, of characters, or of milliseconds.')
      .example(null),
    max: b
      .number()
      .nullable()
      .describe('The maximum of a number, of characters, or of milliseconds.')
      .example(null),
    default: b.json().describe('The value of an omitted field.').example('draft'),
    unit: b.text().nullable().describe('The unit of a number.').example(null),
    nullable: b.bool().describe('Whether the value can be null.').example(false),
    unique: b
      .bool()
      .describe('Whether the rows of a customer and mode have different values.')
      .example(false),
    writable: b.bool().describe('Whether clients can write it.').example(true),
    required: b.bool().describe('Whether a body that creates a row must have it.').example(false),
    editable_in: names()
      .nullable()
      .describe('The states in which clients can change it; null for every state.')
      .example(['draft']),
    write_only: b.bool().describe('Whether no response has it.').example(false),
    read_scope: b
      .text()
      .nullable()
      .describe('The scope that a caller needs to read it; null for none.')
      .example(null),
    write_scope: b
      .text()
      .nullable()
      .describe('The scope that a caller needs to write it; null for none.')
      .example(null),
    describe: b.text().nullable().describe('The sentence of the declaration.').example(null),
    input: fieldInput,
  })
  .named('ResourceField')

const scopeOf = (verb: string) =>
  b
    .text()
    .nullable()
    .describe(`The scope that ${verb} rows; null: no client does.`)
    .example('things:write')

const resourceOverview = b
  .object({
    name: b.text().describe('The name of the collection.').example('things'),
    label: b.text().nullable().describe('The field that names a row for people.').example('name'),
    fields: b.list(resourceField).describe('The fields in their declared order.'),
    filter: names().describe('The fields that filter lists.').example(['id', 'status']),
    sort: names().describe('The fields that sort lists.').example(['id', 'status']),
    access: b
      .object({
        read: b.text().describe('The scope that reads rows, or `public`.').example('things:read'),
        create: scopeOf('creates'),
        update: scopeOf('updates'),
        delete: scopeOf('deletes'),
      })
      .describe('The scopes of the operations.'),
    actions: b
      .list(
        b.object({
          name: b.text().describe('The last segment of its path.').example('send'),
          scope: b.text().describe('The scope that it needs.').example('things:write'),
          from: names()
            .nullable()
            .describe('The states in which it is possible; null for every state.')
            .example(['draft']),
          to: b.text().nullable().describe('The resulting state.').example('sent'),
          emits: b.text().nullable().describe('The event that it records.').example('thing.sent'),
          input: b.list(resourceField).describe('The fields of its body.').example([]),
        }),
      )
      .describe('The actions on a row.'),
    events: names().describe('The types of its events.').example(['thing.created']),
    owner: b
      .text()
      .nullable()
      .describe('The field that leads to the owner of a row.')
      .example('owner_id'),
    signs_in: b
      .text()
      .nullable()
      .describe('The field that is the sign-in name, if rows sign in.')
      .example(null),
    count: b
      .int(0)
      .nullable()
      .describe('The rows of `customer` and `mode`; null without `customer`.')
      .example(1200),
  })
  .named('ResourceOverview')

const features = b.object({
  test_clock: b.bool().describe('Whether the clock can be set.').example(false),
  request_log: b.bool().describe('Whether requests are stored.').example(true),
})

type Features = JsonOf<typeof features>

export const resourceOverviewOperations = {
  read: operation('GET /admin/resources', {
    id: 'list_resources',
    summary: 'Read the declared resources, event types and versions',
    tag: 'resources',
    query: {
      ...SELECTION,
      version: b.line(20).optional().describe('The version of the fields; default the newest.'),
    },
    output: b
      .object({
        service: b.text().describe('The name of the service.').example('Things'),
        is_reference: b
          .bool()
          .describe('Whether it is the reference service, which runs where a team declares none.')
          .example(false),
        version: b.text().describe('The version of the fields.').example('v2'),
        versions: names().describe('All versions, oldest first.').example(['v1', 'v2']),
        resources: b.list(resourceOverview).describe('The resources in their declared order.'),
        event_types: names().describe('Every event type, sorted.').example(['thing.created']),
        sample_event: b
          .text()
          .nullable()
          .describe('A type that `gatehook trigger` causes with a sample; null if none is certain.')
          .example('thing.created'),
        features: features.describe('The parts of the installation that are enabled.'),
      })
      .named('ServiceOverview'),
  }),
}

const snakeCase = (kind: string): string =>
  kind.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`)

type StatesOf = (field: string) => readonly string[] | null

function describeField(name: string, spec: FieldSpec, editableIn: StatesOf) {
  const { kind, target, values, min, max, default: value, description } = spec
  return {
    name,
    type: snakeCase(kind),
    of: target ?? null,
    id_prefix: spec.idPrefix ?? null,
    values: values ?? null,
    min: min ?? null,
    max: max ?? null,
    default: toJson(spec, value ?? null),
    unit: spec.unit ?? null,
    nullable: spec.nullable,
    unique: spec.unique ?? false,
    writable: spec.write !== 'never',
    required: spec.write === 'required',
    editable_in: editableIn(name),
    write_only: spec.isWriteOnly ?? false,
    read_scope: spec.visibleTo ?? null,
    write_scope: spec.writableBy ?? null,
    describe: description ?? null,
    input: describeInput(name, spec),
  }
}

const describeFields = (specs: FieldSpecs, editableIn: StatesOf = () => null) =>
  Object.entries(specs).map(([name, spec]) => describeField(name, spec, editableIn))

/** Returns the field that names a row for people: the first required text, or address. */
function labelOf(specs: FieldSpecs): string | null {
  const texts = Object.entries(specs).filter(
    ([, { nullable, isWriteOnly }]) => !nullable && !isWriteOnly,
  )
  const first = (kind: string) => texts.find(([, spec]) => spec.kind === kind)?.[0]
  return first('string') ?? first('email') ?? null
}

const describeAction = ({ name, scope, from, to, emits, input }: EndpointAction) => ({
  name,
  scope,
  from: from ?? null,
  to: to ?? null,
  emits: emits ?? null,
  input: describeFields(input),
})

/** Returns the states in which clients can change a field: those that all of its rules share. */
function editableStates(
  { editable, fields: declared }: ResourceDefinition,
  field: string,
): readonly string[] | null {
  if (declared[field]?.isWriteOnce) return []
  const rules = editable.filter(({ fields }) => fields.includes(field))
  const [first, ...others] = rules
  return first?.from.filter((state) => others.every(({ from }) => from.includes(state))) ?? null
}

function describeResource({ definition, collection }: ApiEntry, shape: VersionShape) {
  const { name, access, actions, events, signsIn } = definition
  const { view, specs, chain } = shape.as(EVERY_SCOPE)
  const namedIn = (columns: readonly string[]) =>
    view.fields.filter((field) => columns.includes(columnNamed(field, view) ?? ''))
  const oldNameOf = (field: string) => chain.oldFieldOf(field)
  const owner = owningField(definition)
  return {
    name,
    label: labelOf(specs),
    fields: describeFields(specs, (field) =>
      editableStates(definition, columnNamed(field, view) ?? field),
    ),
    filter: namedIn(collection.filter),
    sort: namedIn(collection.sort),
    access: {
      read: access.read,
      create: access.create || null,
      update: access.update || null,
      delete: access.delete || null,
    },
    actions: endpointActions(definition).map(describeAction),
    events: [...events, ...actions.flatMap(({ emits }) => emits ?? [])],
    owner: owner === undefined ? null : oldNameOf(owner),
    signs_in: signsIn === undefined ? null : oldNameOf(signsIn.username),
  }
}

interface OverviewDeps {
  readonly db: Reader
  readonly features: Features
  readonly isReference: boolean
}

/** Returns the route of `GET /admin/resources`. */
export function resourceOverviewRoute(catalog: Catalog, deps: OverviewDeps): Route {
  const { db, features, isReference } = deps
  const { service, versions, newest, apiEntries } = catalog
  return implement(resourceOverviewOperations.read, async (_call, _input, query) => {
    const { version = newest, ...selection } = query
    if (!versions.includes(version)) {
      throw parameterFailure('invalid_parameter', 'version', 'is not a known version')
    }
    const { scope } = await readSelection(db, selection)
    const resources = [...apiEntries.values()].map(async (entry) => ({
      ...describeResource(entry, entry.shapes.get(version)!),
      count: scope === undefined ? null : await readTotal(db, scope, entry.collection.name),
    }))
    return respond(resourceOverviewOperations.read, {
      service: service.name,
      is_reference: isReference,
      version,
      versions,
      resources: await Promise.all(resources),
      event_types: listEventTypes(service),
      sample_event: suggestEventType(service),
      features,
    })
  })
}
