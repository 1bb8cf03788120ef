# SPDX-License-Identifier: MIT
"""QGIS without a window: qgis_session.py wms|wfs URL renders the layer, and prints {"pictures": PNGs as base64,
"names": [...]}. In a process of its own, since QGIS ends one untidily."""

import base64
import json
import os
import sys
import urllib.parse

from qgis.core import (
    QgsApplication,
    QgsCoordinateReferenceSystem,
    QgsMapRendererSequentialJob,
    QgsMapSettings,
    QgsRasterLayer,
    QgsRectangle,
    QgsVectorLayer,
)
from qgis.PyQt.QtCore import QBuffer, QIODevice, QSize
from qgis.PyQt.QtGui import QColor

LAYER = "countries"
SEA, LAND = "#cfe3ef", "#e9e3c8"


def wms(url):
    quoted = urllib.parse.quote(url + "&", safe=":/")
    return QgsRasterLayer(
        f"contextualWMSLegend=0&crs=EPSG:4326&format=image/png&layers={LAYER}&styles=&url={quoted}", "map", "wms"
    )


def wfs(url):
    layer = QgsVectorLayer(f"url='{url}' typename='ms:{LAYER}' version='auto' srsname='EPSG:4326'", "features", "WFS")
    if layer.isValid():
        layer.renderer().symbol().setColor(QColor(LAND))  # by chance otherwise
    return layer


def rendered(layer, box):
    """As PNG."""
    settings = QgsMapSettings()
    settings.setLayers([layer])
    settings.setDestinationCrs(QgsCoordinateReferenceSystem("EPSG:4326"))
    settings.setExtent(QgsRectangle(*box))
    settings.setOutputSize(QSize(256, 128))
    settings.setBackgroundColor(QColor(SEA))  # what comes is transparent there
    job = QgsMapRendererSequentialJob(settings)
    job.start()
    job.waitForFinished()
    if job.errors():
        raise SystemExit(f"not rendered: {[error.message for error in job.errors()]}")
    buffer = QBuffer()
    buffer.open(QIODevice.WriteOnly)
    job.renderedImage().save(buffer, "PNG")
    return base64.b64encode(bytes(buffer.data())).decode()


def main(kind, url):
    application = QgsApplication([], False)
    application.initQgis()
    layer = {"wms": wms, "wfs": wfs}[kind](url)
    if not layer.isValid():
        raise SystemExit(f"the layer is not valid: {layer.error().message()}")
    names = sorted(feature["name"] for feature in layer.getFeatures()) if kind == "wfs" else []
    pictures = [rendered(layer, box) for box in ((-180, -90, 180, 90), (-20, 30, 40, 60))]
    print(json.dumps({"pictures": pictures, "names": names}), flush=True)
    os._exit(0)  # its own end may crash


if __name__ == "__main__":
    main(*sys.argv[1:])
