/** The page of a resource, and the page of the team's own endpoints. Pure. */
import { withApi } from '../../declare/resources/api-resources.ts'
import {
  type ActionDefinition,
  type ResourceDefinition,
  STATE_FIELD,
} from '../../declare/resources/resource.ts'
import { type ContentBlock, code, type Page, pretty, text } from './content.ts'
import { eventAnchor } from './event-pages.ts'
import type { OperationView } from './openapi-reader.ts'
import { operationSection } from './operation-section.ts'
import { pageNameOf } from './page-names.ts'
import type { PageContext } from './page-source.ts'

export function resourcePage(context: PageContext, definition: ResourceDefinition): Page {
  const { reader, version, base } = context
  const { name } = definition
  const own = `/api/${version}/${name}`
  const operations = reader.operations.filter(
    ({ path }) => path === own || path.startsWith(`${own}/`),
  )
  const row = operations.find(({ method, path }) => method === 'GET' && path !== own)?.answer
  const title = titleOf(name)
  return {
    name: pageNameOf(name),
    title,
    group: title,
    summary: `The operations on ${name.replaceAll('_', ' ')}: ${operations.length} in all.`,
    blocks: [
      text(`The collection \`${name}\` is at \`${own}\`.${eventWords(definition)}`),
      ...stateBlocks(definition),
    ],
    aside: row === undefined ? [] : [code('A row', pretty(row))],
    sections: operations.map((operation) => operationSection(operation, base)),
    collection: name,
  }
}

const titleOf = (name: string): string =>
  name.slice(0, 1).toUpperCase() + name.slice(1).replaceAll('_', ' ')

function eventWords({ events, actions }: ResourceDefinition): string {
  const types = [...events, ...actions.flatMap(({ emits }) => emits ?? [])]
  if (types.length === 0) return ''
  const links = types.map((type) => `[\`${type}\`](webhooks#${eventAnchor(type)})`)
  return ` Its changes are events: ${links.join(', ')}.`
}

/** In place of the name of an action without an endpoint. */
const BY_SERVICE = '(by the service)'

/**
 * Returns the states as a line, and each state from which an action leads beside it in a sentence:
 * together they have every state from which each action is possible.
 */
export function stateBlocks(
  definition: Pick<ResourceDefinition, 'name' | 'fields' | 'actions'>,
): ContentBlock[] {
  const start = definition.fields[STATE_FIELD]?.default
  const moves = definition.actions.filter(({ to }) => to !== undefined)
  if (typeof start !== 'string' || moves.length === 0) return []
  const path = longestPath(start, moves)
  const states = [start, ...path.map(({ to }) => to)]
  const sentences = moves.flatMap((action) => {
    const { name, from, to } = action
    const at = path.indexOf(action)
    const others = from?.filter((state) => at < 0 || state !== states[at])
    if (others?.length === 0) return []
    const origins = others?.map((state) => `\`${state}\``).join(' and ') ?? 'any state'
    const subject = action.scope === false ? 'The service itself' : `**${name}**`
    return [`${subject} ${at < 0 ? 'leads' : 'also leads'} from ${origins} to \`${to}\`.`]
  })
  return [
    {
      kind: 'states',
      label: `States of ${definition.name.replaceAll('_', ' ')}`,
      start,
      steps: path.map(({ name, scope, to }) => ({
        action: scope === false ? BY_SERVICE : name,
        to: to!,
      })),
    },
    ...(sentences.length > 0 ? [text(sentences.join(' '))] : []),
  ]
}

/** Returns the longest sequence of actions in which no state repeats; the first one of a length. */
function longestPath(start: string, moves: readonly ActionDefinition[]): ActionDefinition[] {
  let best: ActionDefinition[] = []
  let steps = 0
  const follow = (state: string, path: ActionDefinition[], visited: ReadonlySet<string>): void => {
    if (path.length > best.length) best = path
    for (const action of moves) {
      const isPossible = action.from?.includes(state) && !visited.has(action.to!)
      if (!isPossible || ++steps > SEARCH_MAX) continue
      follow(action.to!, [...path, action], new Set([...visited, action.to!]))
    }
  }
  follow(start, [], new Set([start]))
  return best
}
/** Declarations have few states; the bound is for those with many. */
const SEARCH_MAX = 10_000

/** Returns the page of declared routes under no collection, if there are any. */
export function endpointsPage({ reader, service, version, base }: PageContext): Page[] {
  const names = new Set(withApi(service.resources).map(({ name }) => name))
  const others = service.routes.filter(({ path }) => !names.has(path.split('/')[1]!))
  const isDeclared = ({ method, path }: OperationView) =>
    others.some(
      (route) =>
        route.method === method &&
        `/api/${version}${route.path.replace(/:(\w+)/g, '{$1}')}` === path,
    )
  const operations = reader.operations.filter(isDeclared)
  if (operations.length === 0) return []
  return [
    {
      name: 'endpoints',
      title: 'Endpoints',
      group: 'Endpoints',
      summary: 'The endpoints that belong to no collection.',
      blocks: [text('These endpoints belong to no collection.')],
      aside: [],
      sections: operations.map((operation) => operationSection(operation, base)),
    },
  ]
}
