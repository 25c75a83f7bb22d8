"""What mkdocs does not know: pages that a folder lists by itself, links that leave docs/, search without a server."""

import os
import re
import shutil
import sys
from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.utils import get_relative_url

# The script that lets search work without a server, from which the theme takes it and where the site has it.
FOREIGN, SHIM = "https://unpkg.com/iframe-worker/shim", "assets/javascripts/iframe-worker.js"
LINK = re.compile(r"(\]\()(\.\./[^)\s#]*)((?:#[^)\s]*)?\))")


def on_config(config):
    """Adds the runbooks, and what is for developers, to the navigation."""
    docs = Path(config["docs_dir"])

    def pages(folder):
        return sorted(str(page.relative_to(docs)) for page in (docs / folder).glob("*.md"))

    config["nav"] += [
        {"Runbooks": pages("runbooks")},
        {"Design": ["design/architecture.md", "design/contract.md", {"Decisions": pages("design/adr")}]},
    ]
    return config


def on_page_markdown(markdown, page, config, files):
    """Lets links to files outside of docs/ lead to the repository, at the version of the site."""
    repository = Path(config["docs_dir"]).parent
    version = os.environ.get("SITE_VERSION", "main")

    def outside(match):
        path = os.path.normpath(os.path.join(os.path.dirname(page.file.src_path), match[2]))
        file = path.removeprefix("../")
        if file == path or not (repository / file).exists():
            return match[0]  # it stays inside, or mkdocs warns
        kind = "raw" if file.endswith((".svg", ".png")) else "blob"
        return f"{match[1]}{config['repo_url']}/{kind}/{version}/{file}{match[3]}"

    return LINK.sub(outside, markdown)


def on_post_page(output, page, config):
    """Lets a page fetch no script from elsewhere."""
    output = output.replace(FOREIGN, get_relative_url(SHIM, page.url))
    if found := re.search(r'<script[^>]*\ssrc="https?://[^"]*"', output):
        raise PluginError(f"{page.file.src_path}: {found[0]} is fetched from elsewhere; keep it in the site, see FOREIGN")
    return output


def on_post_template(output, template_name, config):
    """The same for the page of what is not found."""
    return output.replace(FOREIGN, config["site_url"] + SHIM)


def on_post_build(config):
    """Puts the script there."""
    shutil.copy(Path(sys.prefix) / "node_modules/iframe-worker/shim/index.js", Path(config["site_dir"]) / SHIM)
