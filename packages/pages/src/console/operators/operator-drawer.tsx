/** One operator: its facts, its sessions, and the operations on it. */
import { useState } from 'preact/hooks'
import { withQuery } from '../../api.ts'
import { instant } from '../../format.ts'
import { useLoaded } from '../../loaded.ts'
import { Button } from '../../parts/button.tsx'
import { CallLine } from '../../parts/call-line.tsx'
import { Drawer } from '../../parts/drawer.tsx'
import { Empty, Part } from '../../parts/notices.tsx'
import { Id } from '../../parts/state.tsx'
import { href } from '../../router.ts'
import type { Page } from '../api-shapes.ts'
import { mayChange, session } from '../session.ts'
import { ChangeRole, CreateLink, Disable, Enable, ResetFactor } from './operator-operations.tsx'
import { OperatorSessions } from './operator-sessions.tsx'
import { type OperatorRow, ROLE_MEANINGS } from './operator-shapes.ts'
import { OperatorState } from './operators-page.tsx'

interface OperatorDrawerProps {
  readonly id: string
  readonly closeHref: string
  readonly onChange: () => void
}

type Operation = 'role' | 'link' | 'factor' | 'disable' | 'enable'

export function OperatorDrawer({ id, closeHref, onChange }: OperatorDrawerProps) {
  const path = withQuery('/admin/operators', { id, limit: 1 })
  const operator = useLoaded<Page<OperatorRow>>(path)
  const [operation, setOperation] = useState<Operation>()
  const [changes, setChanges] = useState(0)
  const row = operator.data?.data[0]
  const props = row && {
    row,
    onClose: () => setOperation(undefined),
    onDone: () => {
      operator.reload()
      setChanges(changes + 1)
      onChange()
    },
  }
  return (
    <Drawer title={row?.email ?? <span class="mono">{id}</span>} closeHref={closeHref}>
      <Part of={operator} subject="the operator">
        {() =>
          row ? (
            <>
              <Facts row={row} />
              <Operations row={row} onSelect={setOperation} />
              <OperatorSessions key={changes} operator={row.id} />
            </>
          ) : (
            <Empty title="No operator has this id">It never existed.</Empty>
          )
        }
      </Part>
      <CallLine path={path} />
      {props && operation === 'role' && <ChangeRole {...props} />}
      {props && operation === 'link' && <CreateLink {...props} />}
      {props && operation === 'factor' && <ResetFactor {...props} />}
      {props && operation === 'disable' && <Disable {...props} />}
      {props && operation === 'enable' && <Enable {...props} />}
    </Drawer>
  )
}

const Facts = ({ row }: { readonly row: OperatorRow }) => (
  <dl class="kv">
    <dt>State</dt>
    <dd>
      <OperatorState row={row} />
    </dd>
    <dt>Role</dt>
    <dd>
      {row.role}: {ROLE_MEANINGS[row.role]}
    </dd>
    <dt>Id</dt>
    <dd>
      <Id id={row.id} subject="operator id" />
    </dd>
    <dt>Created</dt>
    <dd>{instant(row.created_at)}</dd>
    <dt>Operations</dt>
    <dd>
      <a href={href('/console/audit', { who: row.id })}>in the audit trail</a>
    </dd>
  </dl>
)

interface OperationsProps {
  readonly row: OperatorRow
  readonly onSelect: (operation: Operation) => void
}

function Operations({ row, onSelect }: OperationsProps) {
  if (!mayChange('administrator')) return null
  if (row.id === session.value?.operator) {
    return <p class="soft small">Another administrator must change your own account.</p>
  }
  return (
    <div class="bar">
      <Button size="tiny" onClick={() => onSelect('role')}>
        Role…
      </Button>
      {!row.disabled && (
        <Button size="tiny" onClick={() => onSelect('link')}>
          Link…
        </Button>
      )}
      <Button size="tiny" onClick={() => onSelect('factor')}>
        Second factor…
      </Button>
      {row.disabled ? (
        <Button size="tiny" onClick={() => onSelect('enable')}>
          Enable…
        </Button>
      ) : (
        <Button size="tiny" kind="danger" onClick={() => onSelect('disable')}>
          Disable…
        </Button>
      )}
    </div>
  )
}
