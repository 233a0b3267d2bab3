/** The entry of the page: theme, queries, routes. app.tsx has the pages. */
// Served by Turnkeep itself. A browser loads only the files of the scripts that a page shows.
import '@fontsource-variable/inter/wght.css'
import './font.css'
import './mantine.css'
import './page.css'
import './shell.css'
import { MantineProvider } from '@mantine/core'
import { QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { Router } from 'wouter'
import { App } from './app.tsx'
import { createQueries } from './api/session.ts'
import { aroundNav } from './show/guarded-navigation.ts'
import { NowProvider } from './show/now.tsx'
import { useRawSearch } from './show/raw-search.ts'
import { ToastProvider, ToastStore, Toasts } from './show/toasts.tsx'
import { theme, variables } from './theme.ts'

const toasts = new ToastStore()
const queries = createQueries((text) => toasts.show(text))

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <MantineProvider theme={theme} cssVariablesResolver={variables} defaultColorScheme="auto">
      <QueryClientProvider client={queries}>
        <NowProvider>
          <ToastProvider value={toasts.show}>
            <Router base="/console" searchHook={useRawSearch} aroundNav={aroundNav}>
              <App />
            </Router>
          </ToastProvider>
        </NowProvider>
        <Toasts store={toasts} />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
)
