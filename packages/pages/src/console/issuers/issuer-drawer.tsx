/** One trusted issuer: its keys and rules, the explanation of an assertion, and its deletion. */
import { useState } from 'preact/hooks'
import { send } from '../../api.ts'
import { Facts } from '../../parts/facts.tsx'
import { Tag } from '../../parts/state.tsx'
import type { OpenRow } from '../list-screen.tsx'
import { ObjectFacts, recentRequests } from '../object-facts.tsx'
import { ConsoleDialog } from '../operation-forms.tsx'
import {
  confirmation,
  OfCustomer,
  type OperationProps,
  RowDrawer,
  type RowOperation,
} from '../row-drawer.tsx'
import { ChangeIssuer, pathOfIssuer } from './issuer-form.tsx'
import type { AssertionExplanation, Issuer } from './issuer-types.ts'

export const IssuerDrawer = (props: OpenRow) => (
  <RowDrawer<Issuer, Issuer>
    {...props}
    path={pathOfIssuer(props.id)}
    noun="issuer"
    rowOf={(issuer) => issuer}
    nameOf={({ issuer }) => issuer}
    facts={IssuerFacts}
    operations={operations}
    more={({ rules }) => rules.map((rule, at) => <Rule key={at} rule={rule} at={at} />)}
  />
)

const IssuerFacts = ({ row }: { readonly row: Issuer }) => (
  <ObjectFacts
    of="Issuer"
    noun="issuer"
    row={row}
    omit={['issuer', 'rules']}
    cells={{ reuse: ({ reuse }) => reuse && 'until it expires' }}
    more={[recentRequests({ client: row.id })]}
  />
)

interface RuleProps {
  readonly rule: Issuer['rules'][number]
  readonly at: number
}

const Rule = ({ rule, at }: RuleProps) => (
  <section aria-label={`Rule ${at + 1}`}>
    <h3>Rule {at + 1}</h3>
    <Facts
      of={[
        ['Match', JSON.stringify(rule.match), 'mono'],
        ['Acts for', <OfCustomer customer={rule.customer} mode={rule.mode} />],
        ['Caller', rule.person === null ? 'a workload' : `a person, by ${rule.person}`],
        ['Scopes', rule.scopes.join(' ') || 'none', 'mono'],
        rule.typ === null ? undefined : ['typ', rule.typ, 'mono'],
        rule.domains.length === 0 ? undefined : ['Domains', rule.domains.join(', ')],
      ]}
    />
  </section>
)

function Explain({ row, onClose }: OperationProps<Issuer>) {
  const [explained, setExplained] = useState<AssertionExplanation>()
  return (
    <ConsoleDialog<AssertionExplanation>
      operation="explain_assertion"
      path={`${pathOfIssuer(row.id)}/explain`}
      title={`Explain an assertion of ${row.issuer}`}
      verb="Explain"
      busyVerb="Explaining…"
      words={{ assertion: { rows: 4 } }}
      below={() => explained && <Explanation of={explained} />}
      done={setExplained}
      onClose={onClose}
    />
  )
}

const Explanation = ({ of: { valid, checks, principal } }: { of: AssertionExplanation }) => (
  <div role="status">
    <p>
      <b>{valid ? 'It is accepted.' : 'It is refused.'}</b>{' '}
      {principal && `It names the ${principal.kind} ${principal.id}.`}
    </p>
    <Facts
      of={checks.map(({ name, passed, message }) => [
        name,
        passed ? <Tag>passed</Tag> : <b>{message}</b>,
      ])}
    />
  </div>
)

const Delete = confirmation<Issuer>((row) => ({
  title: `Delete ${row.issuer}`,
  verb: 'Delete the issuer',
  busyVerb: 'Deleting…',
  isDangerous: true,
  typed: row.issuer,
  request: () => send('DELETE', pathOfIssuer(row.id)),
  done: `${row.issuer} is deleted.`,
  isEnd: true,
  text: 'Its tokens end within 2 s, and its callers get no others.',
}))

const operations: readonly RowOperation<Issuer>[] = [
  { verb: 'Explain an assertion', role: 'administrator', dialog: Explain },
  { verb: 'Keys and rules', role: 'administrator', dialog: ChangeIssuer },
  { verb: 'Delete', role: 'administrator', isDangerous: true, dialog: Delete },
]
