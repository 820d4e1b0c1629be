/** The pages of the portal. */
import type { PageRow } from '../router.ts'

export const pages: readonly PageRow[] = [
  { path: '/portal', load: () => import('./home-page.tsx') },
  { path: '/portal/webhooks/:id', load: () => import('./webhook-page.tsx') },
  { path: '/portal/deliveries/:id', load: () => import('./delivery-page.tsx') },
]
