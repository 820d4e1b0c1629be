/** One row: its actions, fields and history, and its JSON in each version. */
import { useEffect, useState } from 'preact/hooks'
import { lazy } from '../../lazy.tsx'
import { useLoaded } from '../../loaded.ts'
import { Button } from '../../parts/button.tsx'
import { CallLine } from '../../parts/call-line.tsx'
import { Drawer } from '../../parts/drawer.tsx'
import { Json } from '../../parts/json.tsx'
import { Part } from '../../parts/notices.tsx'
import { Segments } from '../../parts/segments.tsx'
import { go, href } from '../../router.ts'
import { mayChange } from '../session.ts'
import { detailOf, isJsonText } from './field-value.tsx'
import { isId, type NameOfReference, useReferences } from './references.ts'
import {
  type DataRow,
  type DataScope,
  type Overview,
  type Resource,
  type ResourceAction,
  rowName,
  rowsPath,
  stateOf,
} from './resource-shapes.ts'
import { RowHistory } from './row-history.tsx'
import { DeleteRow, EditRow, prefetchOperations, RunAction } from './row-operations-code.ts'

const { Lazy: RowSignIn } = lazy(async () => (await import('./row-sign-in.tsx')).RowSignIn)

interface RowDrawerProps {
  readonly overview: Overview
  readonly resource: Resource
  readonly scope: DataScope
  readonly id: string
  readonly closeHref: string
  /** Runs after a change, so that the list loads again. */
  readonly onChange: () => void
}

type Operation = 'edit' | 'delete' | ResourceAction

export function RowDrawer(props: RowDrawerProps) {
  const { overview, resource, scope, id, closeHref, onChange } = props
  const path = `${rowsPath(scope, resource.name)}/${encodeURIComponent(id)}`
  const loaded = useLoaded<DataRow>(path)
  const [operation, setOperation] = useState<Operation>()
  const [changes, setChanges] = useState(0)
  useEffect(prefetchOperations, [])
  const row = loaded.data
  const nameOf = useReferences(scope, overview, resource.name, row ? [row] : [])
  const object = `${resource.name}/${id}`
  const shared = row && {
    resource,
    scope,
    row,
    onClose: () => setOperation(undefined),
    onDone: () => {
      loaded.reload()
      setChanges(changes + 1)
      onChange()
    },
  }
  const afterDelete = () => {
    onChange()
    go(closeHref)
  }
  return (
    <Drawer
      title={row ? rowName(resource, row) : <span class="mono">{object}</span>}
      closeHref={closeHref}
    >
      <Part of={loaded} subject="the row">
        {(data) => (
          <>
            {mayChange('administrator') && (
              <Operations resource={resource} row={data} onSelect={setOperation} />
            )}
            <Facts {...{ resource, nameOf }} row={data} />
            {resource.signs_in && <RowSignIn resource={resource} row={data} />}
            <RowHistory key={changes} {...{ scope, object }} />
            <AsJson {...{ overview, resource, scope }} row={data} />
          </>
        )}
      </Part>
      <CallLine path={path} />
      {shared && operation === 'edit' && <EditRow {...shared} />}
      {shared && operation === 'delete' && <DeleteRow {...shared} onDone={afterDelete} />}
      {shared && typeof operation === 'object' && <RunAction {...shared} action={operation} />}
    </Drawer>
  )
}

interface OperationsProps {
  readonly resource: Resource
  readonly row: DataRow
  readonly onSelect: (operation: Operation) => void
}

const isPossible = ({ from }: ResourceAction, row: DataRow): boolean =>
  from?.includes(stateOf(row) ?? '') ?? true

/** The state decides which actions are possible; the text below says why others are not. */
function Operations({ resource, row, onSelect }: OperationsProps) {
  const { actions, access, fields } = resource
  const impossible = actions.filter((action) => !isPossible(action, row))
  const hasFields = fields.some(({ writable }) => writable)
  if (actions.length === 0 && !access.update && !access.delete) return null
  return (
    <>
      <div class="bar">
        {actions.map((action) => {
          const isOff = impossible.includes(action)
          return (
            <Button
              key={action.name}
              size="tiny"
              disabled={isOff}
              {...(isOff && { describedBy: 'why-not' })}
              onClick={() => onSelect(action)}
            >
              {action.name}…
            </Button>
          )
        })}
        {access.update && hasFields && (
          <Button size="tiny" onClick={() => onSelect('edit')}>
            Edit…
          </Button>
        )}
        {access.delete && (
          <Button size="tiny" kind="danger" onClick={() => onSelect('delete')}>
            Delete…
          </Button>
        )}
      </div>
      {impossible.length > 0 && (
        <p class="hint" id="why-not">
          The row is {stateOf(row)}.{' '}
          {impossible.map(({ name, from }) => `${name} needs ${from!.join(' or ')}.`).join(' ')}
        </p>
      )}
    </>
  )
}

interface FactsProps {
  readonly resource: Resource
  readonly row: DataRow
  readonly nameOf: NameOfReference
}

const Facts = ({ resource, row, nameOf }: FactsProps) => (
  <section aria-label="Fields">
    <dl class="kv">
      {resource.fields.map((field) => {
        if (field.write_only) return null
        const value = row[field.name]
        const name = field.of === null ? undefined : nameOf(field.of, value)
        const text =
          value !== null && isJsonText(field) ? <Json value={value} /> : detailOf(field, value)
        return (
          <>
            <dt class="mono">{field.name}</dt>
            <dd>
              {field.of !== null && isId(value) ? (
                <a href={href(`/console/data/${field.of}/${value}`)}>
                  {value}
                  {name !== undefined && `, ${name}`}
                </a>
              ) : (
                text
              )}
            </dd>
          </>
        )
      })}
    </dl>
  </section>
)

interface AsJsonProps extends Pick<FactsProps, 'resource' | 'row'> {
  readonly overview: Overview
  readonly scope: DataScope
}

/** The row as callers of a version read it. */
function AsJson({ overview, resource, scope, row }: AsJsonProps) {
  const [version, setVersion] = useState(scope.version)
  const path = `${rowsPath({ ...scope, version }, resource.name)}/${row.id}`
  const other = useLoaded<DataRow>(version === scope.version ? undefined : path)
  const isOwn = version === scope.version
  return (
    <section aria-labelledby="json">
      <div class="bar">
        <h2 id="json">As JSON</h2>
        {overview.versions.length > 1 && (
          <Segments
            label="As version"
            value={version}
            options={overview.versions.map((name) => [name, name] as const)}
            onChange={setVersion}
          />
        )}
      </div>
      {isOwn ? (
        <Json value={row} />
      ) : (
        <Part of={other} subject="the row">
          {(data) => <Json value={data} />}
        </Part>
      )}
    </section>
  )
}
