/** Starts the portal. The token of a link leaves the address before anything else runs. */
import { render } from 'preact'
import { setPageHeader } from '../api.ts'
import { applyAccent } from '../branding.ts'
import { mountLinks } from '../mount-path.ts'
import { startRouter } from '../router.ts'
import { applyTheme } from '../theme.ts'
import { App } from './app.tsx'
import { takeLinkToken } from './session.ts'

const token = takeLinkToken()
applyTheme()
applyAccent()
setPageHeader('x-gatehook-portal')
mountLinks()
startRouter('/portal')
render(<App token={token} />, document.getElementById('app')!)
