/**
 * The objects of stored events as the declaration of today has them (§9.14): without the fields
 * that it hides, and without the members that it no longer has. Every reader of a stored object or
 * body calls it, also the thread that delivers, for which the rules are plain values. Pure.
 */
import { envelope, type RecordedObject, type StoredEvent } from './event.ts'

/** The members of the objects of a type or collection in one version. */
export interface VersionMembers {
  readonly version: string
  readonly visible: readonly string[]
  /** The fields that events lack. */
  readonly hidden: readonly string[]
}

/** Oldest first. */
type MembersOfVersions = readonly VersionMembers[]

export interface DeclaredObjects {
  /** Of the events whose objects are no rows, by type. */
  readonly types: ReadonlyMap<string, MembersOfVersions>
  /** By collection. */
  readonly collections: ReadonlyMap<string, MembersOfVersions>
  /**
   * When this node began to use the declaration, in Unix seconds. During a deployment, later events
   * can have members of a newer declaration, which stay.
   */
  readonly since: number
}

export const NO_DECLARED_OBJECTS: DeclaredObjects = {
  types: new Map(),
  collections: new Map(),
  since: 0,
}

/** An event with the body for registrations that are pinned to another version. */
type StoredBody = Pick<StoredEvent, 'id' | 'created' | 'scope'> &
  RecordedObject & {
    /** The version of the registration. */
    readonly version: string
    /** Null: the object is the body. */
    readonly body: string | null
  }

export interface StoredObjects {
  /** Returns the JSON text of an object in the version that recorded it. */
  objectOf(recorded: RecordedObject): string
  /** Whether the body for a version is served; if not, the object is. */
  hasBody(stored: Omit<StoredBody, 'body' | 'object'>): boolean
  /** Returns the body of a delivery. */
  bodyOf(stored: StoredBody): string
}

interface MemberRule {
  readonly visible: ReadonlySet<string>
  readonly hidden: ReadonlySet<string>
  /** The hidden members as JSON has them. */
  readonly marks: readonly string[]
}

/** The rules of a type or collection. */
interface MemberRules {
  readonly ofObject: ReadonlyMap<string, MemberRule>
  /** By the version of the registration: a body can have the form of a successor. */
  readonly ofBody: ReadonlyMap<string, MemberRule>
  /** Of a version that the service no longer has. */
  readonly ofFormer: MemberRule
}

export function createStoredObjects({ types, collections, since }: DeclaredObjects): StoredObjects {
  const byType = rulesOf(types)
  const byCollection = rulesOf(collections)
  const findRules = ({ type, collection }: Pick<RecordedObject, 'type' | 'collection'>) =>
    byType.get(type) ?? byCollection.get(collection ?? '')
  const isFormer = ({ created }: RecordedObject) => created !== undefined && created <= since
  const objectOf: StoredObjects['objectOf'] = (recorded) => {
    const rules = findRules(recorded)
    if (!rules) return recorded.object
    const rule = rules.ofObject.get(recorded.shape) ?? rules.ofFormer
    return removeMembers(recorded.object, rule, isFormer(recorded))
  }
  return {
    objectOf,
    hasBody(stored) {
      const rules = findRules(stored)
      return !rules || rules.ofBody.has(stored.version)
    },
    bodyOf(stored) {
      const { body, version } = stored
      const rules = findRules(stored)
      const rule = rules?.ofBody.get(version)
      if (body === null || (rules && !rule)) return envelope(stored, objectOf(stored))
      if (!rule) return body
      // The text of the object is between the members of the envelope.
      const [start, end] = [envelope(stored, '').length - 2, body.length - 2]
      const text = body.slice(start, end)
      const object = removeMembers(text, rule, isFormer(stored))
      return object === text ? body : envelope(stored, object)
    },
  }
}

const rulesOf = (
  declared: ReadonlyMap<string, MembersOfVersions>,
): ReadonlyMap<string, MemberRules> =>
  new Map([...declared].map(([name, versions]) => [name, memberRules(versions)]))

function memberRules(versions: MembersOfVersions): MemberRules {
  const newest = versions.at(-1)!
  const hidden = new Set(versions.flatMap((version) => version.hidden))
  const visible = new Set(newest.visible)
  const formerlyHidden = [...hidden].filter((name) => !visible.has(name))
  return {
    ofObject: new Map(versions.map((members) => [members.version, memberRule([members])])),
    ofBody: new Map(versions.map(({ version }, at) => [version, memberRule(versions.slice(at))])),
    ofFormer: memberRule([{ ...newest, hidden: formerlyHidden }]),
  }
}

/** A member is visible if one of the versions shows it. */
function memberRule(versions: MembersOfVersions): MemberRule {
  const visible = new Set(versions.flatMap((members) => members.visible))
  const hidden = new Set(versions.flatMap((members) => members.hidden)).difference(visible)
  return { visible, hidden, marks: [...hidden].map((name) => `"${name}":`) }
}

/**
 * Removes the hidden members of an object, and the undeclared ones of a former object. It parses
 * only an object that is former, or has the name of a hidden member.
 */
function removeMembers(
  text: string,
  { visible, hidden, marks }: MemberRule,
  isFormer: boolean,
): string {
  if (!isFormer && !marks.some((mark) => text.includes(mark))) return text
  const members = Object.entries(JSON.parse(text) as Readonly<Record<string, unknown>>)
  const stays = isFormer
    ? ([name]: [string, unknown]) => visible.has(name)
    : ([name]: [string, unknown]) => !hidden.has(name)
  const readable = members.filter(stays)
  return readable.length === members.length ? text : JSON.stringify(Object.fromEntries(readable))
}
