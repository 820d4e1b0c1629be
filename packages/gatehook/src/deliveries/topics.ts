/**
 * What registrations ask for: types, `order.*`, `*` (§9.1), and the rows by which the outbox finds
 * them. Who may ask for what is not decided here.
 */
import type { Scope } from '../kernel/principal.ts'
import type { Tx } from '../storage/database.ts'
import { sql } from '../storage/sql.ts'

/** Every topic a registration can name to get this type: itself, its families, `*`. */
export function topicsOf(type: string): string[] {
  const topics = [type]
  for (let dot = type.lastIndexOf('.'); dot > 0; dot = type.lastIndexOf('.', dot - 1)) {
    topics.push(`${type.slice(0, dot)}.*`)
  }
  topics.push('*')
  return topics
}

/** Without topics another one of them covers, so that a type is found at most once. */
export function withoutCovered(topics: readonly string[]): string[] {
  const all = new Set(topics)
  return [...all].filter((topic) => {
    const own = topic.endsWith('.*') ? topic.slice(0, -2) : topic
    return !topicsOf(own).some((other) => other !== topic && other !== own && all.has(other))
  })
}

export interface Asked {
  readonly scope: Scope
  readonly no: number
  readonly tag: string
  /** As the registration names them; none when it is deleted. */
  readonly events: readonly string[]
  /** The pinned version. */
  readonly version: string
  /** JSON array of the scopes that bound what it receives (§9.14). */
  readonly scopes: string | null
}

/**
 * Puts the topics of a registration in place of those it had. In its own transaction, always.
 * Paused ones keep theirs: what they miss waits for them (§9.12).
 */
export async function saveTopics(
  tx: Tx,
  { scope, no, tag, events, version, scopes }: Asked,
): Promise<void> {
  await tx.run(sql`DELETE FROM gh_webhook_topics WHERE scope = ${scope} AND webhook_no = ${no}`)
  for (const topic of withoutCovered(events)) {
    await tx.run(sql`INSERT INTO gh_webhook_topics (scope, topic, webhook_no, tag, version, scopes)
      VALUES (${scope}, ${topic}, ${no}, ${tag}, ${version}, ${scopes})`)
  }
}
