/**
 * The table of the console's pages: URL, place in the side bar, key after `g`, code. A page is a
 * module that exports `Page`; it is loaded on the first visit.
 */
import type { PageRow } from '../router.ts'
import { reserveLabels } from './page-labels.ts'

export interface ConsolePage extends PageRow {
  readonly label: string
  /** The group of the side bar; undefined: the side bar does not list the page. */
  readonly group?: 'Traffic' | 'Contract' | 'Access' | 'Data' | 'Installation'
  /** The key after `g`. */
  readonly key?: string
}

export const pages: readonly ConsolePage[] = [
  {
    path: '/console/overview',
    label: 'Overview',
    group: 'Traffic',
    key: 'o',
    load: () => import('./overview/overview-page.tsx'),
  },
  {
    path: '/console/requests/:id?',
    label: 'Requests',
    group: 'Traffic',
    key: 'r',
    load: () => import('./requests/requests-page.tsx'),
  },
  {
    path: '/console/events/:id?',
    label: 'Events',
    group: 'Traffic',
    key: 'e',
    load: () => import('./events/events-page.tsx'),
  },
  {
    path: '/console/webhooks/:id?',
    label: 'Webhooks',
    group: 'Traffic',
    key: 'w',
    load: () => import('./webhooks/webhooks-page.tsx'),
  },
  {
    path: '/console/jobs/:id?',
    label: 'Jobs',
    group: 'Traffic',
    key: 'j',
    load: () => import('./jobs/jobs-page.tsx'),
  },
  {
    path: '/console/deliveries/:id',
    label: 'Delivery',
    load: () => import('./events/event-view.tsx'),
  },
  {
    path: '/console/versions/:id?',
    label: 'Versions',
    group: 'Contract',
    key: 'v',
    load: () => import('./versions/versions-page.tsx'),
  },
  {
    path: '/console/keys/:id?',
    label: 'Keys',
    group: 'Access',
    key: 'k',
    load: () => import('./keys/keys-page.tsx'),
  },
  {
    path: '/console/clients/:id?',
    label: 'Clients',
    group: 'Access',
    key: 'c',
    load: () => import('./clients/clients-page.tsx'),
  },
  {
    path: '/console/issuers/:id?',
    label: 'Issuers',
    group: 'Access',
    key: 'i',
    load: () => import('./issuers/issuers-page.tsx'),
  },
  {
    path: '/console/customers/:id?',
    label: 'Customers',
    group: 'Access',
    key: 'u',
    load: () => import('./customers/customers-page.tsx'),
  },
  // The side bar lists the declared resources instead.
  {
    path: '/console/data/:collection?/:id?',
    label: 'Data',
    key: 'd',
    load: () => import('./data/data-page.tsx'),
  },
  {
    path: '/console/audit/:id?',
    label: 'Audit',
    group: 'Installation',
    key: 'a',
    load: () => import('./audit/audit-page.tsx'),
  },
  {
    path: '/console/operators/:id?',
    label: 'Operators',
    group: 'Installation',
    key: 'p',
    load: () => import('./operators/operators-page.tsx'),
  },
  {
    path: '/console/system',
    label: 'System',
    group: 'Installation',
    key: 's',
    load: () => import('./system/system-page.tsx'),
  },
  {
    path: '/console/setup',
    label: 'Set up',
    load: () => import('./entrance/setup-page.tsx'),
  },
  ...(import.meta.env.DEV
    ? [
        {
          path: '/console/parts/:id?',
          label: 'Parts',
          load: () => import('./parts-page.tsx'),
        },
      ]
    : []),
]

/** The URL of a page without its optional parameters. */
export const homeOf = ({ path }: PageRow): string => path.replace(/(\/:\w+\?)+$/, '')

reserveLabels(pages.map(({ label }) => label))
