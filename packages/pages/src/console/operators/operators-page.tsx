/** Operators: the list, one operator in the drawer, and the form that creates one. */
import { createOperatorCommand } from '../../commands.ts'
import type { Words } from '../../forms/field-words.ts'
import type { FilterWord } from '../../parts/query-box.tsx'
import { keepQuery, type PageProps } from '../../router.ts'
import { ListScreen } from '../list-screen.tsx'
import { NewRow } from '../operation-forms.tsx'
import { mayChange, session } from '../session.ts'
import { OperatorDrawer } from './operator-drawer.tsx'
import { type OperatorRow, ROLE_MEANINGS } from './operator-shapes.ts'

const PATH = '/admin/operators'

const words: readonly FilterWord[] = [
  { name: 'email', hint: 'the e-mail address of an operator' },
  { name: 'role', hint: 'a role', values: Object.keys(ROLE_MEANINGS) },
  { name: 'disabled', hint: 'true or false', values: ['true', 'false'] },
  { name: 'id', hint: 'the id of an operator' },
]

const hrefOf = ({ id }: OperatorRow): string => keepQuery(`/console/operators/${id}`)

const creationWords: Words = {
  email: {},
  role: {},
  password: {
    label: 'First password',
    hint: 'At least 12 characters. A link opens the console without it.',
  },
}

export const Page = ({ params }: PageProps) => (
  <ListScreen<OperatorRow>
    title="Operators"
    path={PATH}
    noun="operator"
    intro="Operators sign in to this console. They belong to the installation, not to a customer."
    creation={{
      label: 'Create an operator',
      isAllowed: mayChange('administrator'),
      form: (props) => (
        <NewRow<OperatorRow>
          {...props}
          operation="create_operator"
          path={PATH}
          title="Create an operator"
          verb="Create"
          busyVerb="Creating…"
          words={creationWords}
          values={{ role: 'support' }}
          hrefOf={hrefOf}
        />
      ),
    }}
    words={words}
    placeholder="email:…  role:support  disabled:true"
    caption="Operators, the newest first"
    object="Operator"
    mark={({ id }) => id === session.value?.operator && '(you)'}
    empty={{ text: 'Create an operator here, or in a terminal.', command: createOperatorCommand }}
    openId={params.id}
    pagePath="/console/operators"
    drawer={(row) => <OperatorDrawer key={row.id} {...row} />}
  />
)
