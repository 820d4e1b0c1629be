/** Trusted issuers: the list, one issuer in the drawer, and the form that trusts one. */
import { createIssuerCommand } from '../../commands.ts'
import type { FilterWord } from '../../parts/query-box.tsx'
import type { PageProps } from '../../router.ts'
import { ListScreen } from '../list-screen.tsx'
import { mayChange } from '../session.ts'
import { IssuerDrawer } from './issuer-drawer.tsx'
import { TrustIssuer } from './issuer-form.tsx'
import type { Issuer } from './issuer-types.ts'

const PATH = '/admin/issuers'

const words: readonly FilterWord[] = [
  { name: 'issuer', hint: 'the URL of an issuer' },
  { name: 'id', hint: 'the id of an issuer' },
]

export const Page = ({ params }: PageProps) => (
  <ListScreen<Issuer>
    title="Issuers"
    path={PATH}
    noun="issuer"
    intro="Pipelines, clusters and identity providers whose tokens open this API, by rules."
    creation={{
      label: 'Trust an issuer',
      isAllowed: mayChange('administrator'),
      form: (props) => <TrustIssuer {...props} />,
    }}
    words={words}
    placeholder="issuer:https://…"
    caption="Trusted issuers"
    object="Issuer"
    empty={{ text: 'Trust an issuer here, or in a terminal.', command: createIssuerCommand }}
    openId={params.id}
    pagePath="/console/issuers"
    drawer={(row) => <IssuerDrawer key={row.id} {...row} />}
  />
)
