/** Forms of operations in the console: inputs whose choices its API lists, and their dialogs. */

import type { InputProps, Words } from '../forms/field-words.ts'
import { OperationDialog, type OperationDialogProps } from '../forms/form-dialog.tsx'
import { Checks } from '../forms/form-fields.tsx'
import { useLoaded } from '../loaded.ts'
import { Part } from '../parts/notices.tsx'
import { ScopeMatrix } from '../parts/scope-matrix.tsx'
import { Segments } from '../parts/segments.tsx'
import { say } from '../parts/toast.tsx'
import { go } from '../router.ts'
import { customerOptions } from './customer-names.ts'
import { installationScopes, isInstallationScope } from './installation-scopes.ts'
import type { CreationProps } from './list-screen.tsx'
import { ROLE_MEANINGS } from './operators/operator-shapes.ts'
import type { RowOperation } from './row-drawer.tsx'
import { useVersions } from './versions.ts'

/** A row of `GET /admin/scopes`. */
export interface ScopeRow {
  readonly name: string
  readonly words: string
  readonly kind: 'account' | 'read' | 'write' | 'all' | 'action'
}

function ScopesInput({ field, value, draft, onChange, error }: InputProps) {
  const scopes = useLoaded<{ readonly data: readonly ScopeRow[] }>('/admin/scopes')
  const selected = value as ReadonlySet<string>
  const permits = (name: string) => field.permits?.(name, draft) ?? true
  const ofInstallation = installationScopes.filter(([name]) => permits(name))
  return (
    <>
      <Part of={scopes} subject="scopes">
        {({ data }) => (
          <ScopeMatrix
            legend={field.label}
            scopes={data.filter(({ name }) => !isInstallationScope(name) && permits(name))}
            selected={selected}
            onChange={onChange}
          />
        )}
      </Part>
      <Checks
        values={ofInstallation.map(([name, meaning]) => [
          name,
          <>
            <code>{name}</code> <span class="soft">{meaning}</span>
          </>,
        ])}
        selected={selected}
        onChange={onChange}
      />
      {error && <p class="err">{error}</p>}
    </>
  )
}

const ModeInput = ({ value, onChange }: InputProps) => (
  <div class="field">
    <p class="label">Mode</p>
    <Segments
      label="Mode"
      value={value as string}
      options={[
        ['live', 'Live'],
        ['test', 'Test'],
      ]}
      onChange={onChange}
    />
  </div>
)

const useVersionOptions = () => [
  ['', 'Not pinned'] as const,
  ...useVersions().map(({ version }) => [version, version] as const),
]

const ROLE_LABELS = Object.fromEntries(
  Object.entries(ROLE_MEANINGS).map(([role, meaning]) => [role, `${role}: ${meaning}`]),
)

const words: Words = {
  contact_email: {
    label: 'Contact, an e-mail address',
    hint: 'The address for news, such as the end of a version.',
  },
  role: { hint: null, choices: ROLE_LABELS },
  customer: { hint: null, options: customerOptions },
  mode: { input: ModeInput },
  scopes: { input: ScopesInput, permits: (scope) => !isInstallationScope(scope) },
  can: { kind: 'set', input: ScopesInput },
  api_version: { hint: null, options: useVersionOptions },
}

/** A dialog of an operation, with the inputs of the console. */
export const ConsoleDialog = <Reply,>(props: OperationDialogProps<Reply>) => (
  <OperationDialog {...props} shared={words} />
)

interface NewRowProps<Reply> extends CreationProps, Omit<OperationDialogProps<Reply>, 'done'> {
  /** The page of the new row. */
  readonly hrefOf: (row: Reply) => string
}

/** The dialog of an operation that creates a row, and then opens it. */
export const NewRow = <Reply,>({ hrefOf, onCreate, onClose, ...form }: NewRowProps<Reply>) => (
  <ConsoleDialog<Reply>
    {...form}
    onClose={onClose}
    done={(row) => {
      onCreate()
      onClose()
      go(hrefOf(row))
    }}
  />
)

interface RowForm<Reply> extends Omit<OperationDialogProps<Reply>, 'done' | 'onClose'> {
  /** Says what the request has done. Default: nothing, as the dialog displays a secret. */
  readonly said?: string | ((reply: Reply) => string)
}

/** Returns the dialog of an operation on a row that has a form. */
export const formOf =
  <Row, Reply = unknown>(of: (row: Row) => RowForm<Reply>): RowOperation<Row>['dialog'] =>
  ({ row, onClose, onDone }) => {
    const { said, ...form } = of(row)
    const done = (reply: Reply) => {
      onDone()
      if (said === undefined) return
      say(typeof said === 'string' ? said : said(reply))
      onClose()
    }
    return <ConsoleDialog<Reply> {...form} done={done} onClose={onClose} />
  }
