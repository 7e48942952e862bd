"""The site, from the settings. Only what makes one loads this module: it brings DuckDB and the charts."""

from collections.abc import Sequence

from proofsweep.answers.meant_run import environment_in
from proofsweep.answers.report.choice import PageChoice
from proofsweep.answers.site.update_site import SiteRequest, SiteUpdate, update_site
from proofsweep.settings import Settings
from proofsweep.store.store import open_store
from proofsweep.wiring.engines import utc_now
from proofsweep.wiring.stores import results_for, supplier_tag_of


def updated_site(
    settings: Settings, location: str, *, tags: Sequence[str] = (), most_pages: int | None = None
) -> SiteUpdate:
    """Make the site at a folder or a bucket URL, or bring it up to date; its pages count by tags.

    Raises:
        UsageError, ResultsError: it cannot be.
    """
    results = results_for(settings)
    request = SiteRequest(
        results=results,
        environment=environment_in(results, settings.service.environment),
        clock=utc_now,
        choice=PageChoice(tags=tags, usual_tag=supplier_tag_of(settings)),
        screening=settings.screening.conditions,
        most_pages=most_pages,
    )
    return update_site(request, open_store(location, "site"))
