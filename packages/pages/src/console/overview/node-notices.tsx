/** Notices on nodes: states, ends, failed starts, differences. */
import { slowNow } from '../../clock.ts'
import { ago, count, number, percent } from '../../format.ts'
import { href } from '../../router.ts'
import type { AttentionRow } from '../attention-list.ts'
import { type DifferenceFacts, describeDifference } from '../node-differences.ts'
import { fact, sinceOf, textFact, type Words } from './attention-facts.ts'

/** Returns the sentences of the checks that fail on a node. */
const reasonsOf = ({ facts }: AttentionRow): string =>
  Array.isArray(facts.reasons) ? facts.reasons.map(({ message }) => message).join(' ') : ''

/** A fact that is a list of objects. */
const itemsOf = ({ facts }: AttentionRow, name: string): readonly Record<string, unknown>[] =>
  Array.isArray(facts[name]) ? facts[name] : []

const missingNodes = (row: AttentionRow): string =>
  itemsOf(row, 'ended')
    .map(({ ended_at: at, how }) => {
      const verb = how === 'silent' ? 'reported last' : 'ended'
      return `one ${verb} ${ago(String(at), slowNow().value)}`
    })
    .join(', ')

const verbOf = (row: AttentionRow): string => (fact(row, 'running') === 1 ? 'runs' : 'run')

const describeWarning = ({ message, nodes }: Record<string, unknown>): string =>
  `${Array.isArray(nodes) ? nodes.join(', ') : ''}: ${message}`

const differencesOf = (row: AttentionRow): string =>
  (itemsOf(row, 'differences') as unknown as readonly DifferenceFacts[])
    .map(describeDifference)
    .join('; ')

const link = () => ['Open', href('/console/system')] as const

export const NODE_NOTICES: Readonly<Record<string, Words>> = {
  node_not_ready: {
    word: 'Not ready',
    sentence: (row) => (
      <>
        Node <b>{row.subject.label}</b> is {textFact(row, 'state')?.replace('_', ' ')} for{' '}
        {sinceOf(row)}. {reasonsOf(row)}
      </>
    ),
    link,
  },
  node_warning: {
    word: 'Warning',
    sentence: (row) => <>{itemsOf(row, 'warnings').map(describeWarning).join(' ')}</>,
    link,
  },
  node_start_failed: {
    word: 'Did not start',
    sentence: (row) => (
      <>
        Node <b>{row.subject.label}</b> failed to start {ago(row.since, slowNow().value)}:{' '}
        {textFact(row, 'message')}
      </>
    ),
    link,
  },
  nodes_missing: {
    word: 'Fewer nodes',
    sentence: (row) => (
      <>
        Of the nodes {missingNodes(row)}, not back since;{' '}
        <b>{count(fact(row, 'running'), 'node')}</b> {verbOf(row)}. {textFact(row, 'message')}
      </>
    ),
    link,
  },
  node_options_differ: {
    word: 'Different',
    sentence: (row) => <>Nodes run with different options: {differencesOf(row)}.</>,
    link,
  },
  node_declarations_differ: {
    word: 'Different',
    sentence: (row) => (
      <>
        Nodes run different declarations: {differencesOf(row)}. Rows that one writes may lack values
        of the other until all run the same.
      </>
    ),
    link,
  },
  node_busy: {
    word: 'Busy',
    sentence: (row) => (
      <>
        The event loop of node <b>{row.subject.label}</b> was busy {percent(fact(row, 'busy'))} of
        the last {number(Math.round(fact(row, 'period_s')))} s, and the process used{' '}
        {percent(fact(row, 'cpu'))} of a core.{' '}
        {fact(row, 'cpu') < fact(row, 'busy') / 2
          ? 'Code blocks it, or the machine gives it no processor time.'
          : 'Code computes in it, or the node has too many requests.'}
      </>
    ),
    link,
  },
  queue_old: {
    word: 'Late',
    sentence: (row) => (
      <>
        The oldest delivery of node {row.subject.label} waits for <b>{sinceOf(row)}</b>.
      </>
    ),
    link,
  },
}
